"""What tools take and return, as models of the client read it.

No field is null: clients differ in how they write such schemas for their models.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from server.api.native.score_schemas import check_targets
from server.api.requests.fields import MOST_TERMS, Term, check_text
from server.text.base.language_tags import LONGEST_CODE

AUTO = "auto"
FLAGS = (
    "What looks wrong; empty if nothing does. loop: a phrase is repeated; numbers_changed: the source has other "
    "numbers; untranslated: a copy of the source; empty: there is no translation; cut: a long sentence was translated "
    "in parts; truncated: a part of the source is missing; moved: a URL or placeholder may stand in the wrong place."
)

Text = Annotated[str, BeforeValidator(check_text)]
Texts = Annotated[str | list[str], BeforeValidator(check_text)]
Code = Annotated[str, Field(min_length=1, max_length=LONGEST_CODE), BeforeValidator(check_text)]
Source = Annotated[Code, Field(description="Code of the texts' language; by default it is detected.", examples=["en"])]
Target = Annotated[Code, Field(description="Code of the language to translate into.", examples=["de"])]
Glossary = Annotated[
    dict[Term, Term],
    Field(
        max_length=MOST_TERMS,
        description="Terms of the text and how each must be translated, at word boundaries.",
        examples=[{"bug report": "Fehlerbericht"}],
    ),
]

Keep = Annotated[
    list[Term],
    Field(max_length=MOST_TERMS, description="Terms that stay as they are, such as names.", examples=[["RingMT"]]),
]


class Arguments(BaseModel):
    """The arguments of a call. Unknown ones are refused; null stands for the default, as some clients send it."""

    model_config = ConfigDict(strict=True, extra="forbid")
    texts: ClassVar[tuple[str, ...]] = ()
    """The fields that have texts, whose length the server limits."""

    @model_validator(mode="before")
    @classmethod
    def without_null(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        return {name: value for name, value in fields.items() if value is not None}


class NoArguments(Arguments):
    pass


class TranslateArguments(Arguments):
    texts = ("text",)

    text: Texts = Field(
        description="What to translate: a text of one or more sentences, or a list of texts. Line breaks, spaces, "
        "URLs, placeholders and code stay as they are.",
        examples=["Good morning.", ["Save", "Cancel"]],
    )
    target: Target
    source: Source = AUTO
    format: Literal["text", "html", "xml"] = Field(
        "text", description="With html or xml, tags stay and the text between them is translated."
    )
    alternatives: int = Field(0, ge=0, description="How many other translations of each text to return as well.")
    glossary: Glossary = {}
    keep: Keep = []


class DocumentArguments(Arguments):
    texts = ("text",)

    text: Texts = Field(
        description="The whole text; or its paragraphs, sentences, cues or messages as a list in their order.",
        examples=[["I bought a new lamp yesterday.", "It is broken."]],
    )
    target: Target
    source: Source = AUTO
    glossary: Glossary = {}
    keep: Keep = []


class ScoreArguments(Arguments):
    texts = ("text", "translation", "context")

    text: Text = Field(description="One sentence in the source language.", examples=["It is on the table."])
    translation: Annotated[str | Annotated[list[str], Field(min_length=1)], BeforeValidator(check_targets)] = Field(
        description="A translation of it, or several to choose from.",
        examples=[["Er steht auf dem Tisch.", "Es steht auf dem Tisch."]],
    )
    source: Code = Field(description="Code of the sentence's language.", examples=["en"])
    target: Code = Field(description="Code of the translations' language.", examples=["de"])
    context: Text = Field(
        "", description="The text before the sentence, in the source language.", examples=["Where is the cup?"]
    )


class TranslatedText(BaseModel):
    text: str = Field(description="The translation.")
    source: str = Field(description="Code of the text's language. A text in the target language is unchanged.")
    alternatives: list[str] = Field(description="Other translations, the better ones first.")
    flags: list[str] = Field(description=FLAGS)


class Translations(BaseModel):
    """The translations in the order of the texts."""

    translations: list[TranslatedText]


class SuspectSentence(BaseModel):
    source: str
    translation: str
    flags: list[str] = Field(description=FLAGS)


class Document(BaseModel):
    translations: list[str] = Field(description="The translated texts, in their order.")
    source: str = Field(description="Code of the document's language.")
    sentences: int = Field(description="How many sentences it has.")
    check: list[SuspectSentence] = Field(description="Sentences whose translation looks wrong.")


class ScoredTranslation(BaseModel):
    translation: str
    score: float = Field(description="Log-probability of the translation, in nats; nearer to 0 is more probable.")
    tokens: int = Field(description="Its tokens, the end of the sentence included.")
    mean_score: float = Field(description="score / tokens, for translations of different length.")


class Scores(BaseModel):
    """The scores in the order of the translations."""

    best: int = Field(description="Position of the most probable translation, from 0 on.")
    scores: list[ScoredTranslation]
    model: str


class SourceLanguage(BaseModel):
    code: str
    name: str
    targets: list[str] = Field(description="Codes of the languages into which it can be translated.")


class Languages(BaseModel):
    languages: list[SourceLanguage]
