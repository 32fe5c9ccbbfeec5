"""The fields of DeepL's API. Unknown fields and values that this server cannot honour are refused, never ignored."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from server.api.requests.fields import check_optional_text, check_text
from server.api.requests.limits import FORMALITY, FormalityOption
from server.text.markup.tokens import Kind

THRESHOLD = (
    "The least likeness of segments that are used, in percent; without it, only equal ones. A similar one is used only "
    "if it has the numbers of the text, its URLs and its placeholders."
)
NOT_SERVED = (
    "style_id",
    "custom_instructions",
)
"""Fields that are known and cannot be honoured."""


def one_or_many(value: Any) -> Any:
    """A form with one text becomes a list of one."""
    return check_text([value] if isinstance(value, str) else value)


def as_word(value: Any) -> Any:
    """0 and 1 may come as numbers."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def list_of(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


Tags = Annotated[list[str] | None, BeforeValidator(list_of)]


class DeepLTranslateRequest(BaseModel):
    """`POST /v2/translate`: JSON or a form."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[list[str], BeforeValidator(one_or_many)] = Field(examples=[["Hello world."]])
    target_lang: str = Field(examples=["DE"])
    source_lang: str | None = Field(
        default=None, description="By default each text's language is detected.", examples=["EN"]
    )
    context: Annotated[str | None, BeforeValidator(check_optional_text)] = Field(
        None, description="Text before the texts, in their language; for models with context."
    )
    split_sentences: Annotated[Literal["0", "1", "nonewlines"], BeforeValidator(as_word)] = Field(
        "1",
        description="0: a text is one sentence. nonewlines: line breaks end no sentence. Both keep line breaks; empty "
        "lines, list items and turns of a dialogue still end sentences.",
    )
    formality: FormalityOption | None = Field(default=None, description=FORMALITY)
    model_type: str | None = Field(
        default=None, description="All but quality_optimized; there is one model for two languages."
    )
    preserve_formatting: bool | None = Field(default=None, description="Formatting is always preserved.")
    show_billed_characters: bool | None = Field(default=None, description="They are always shown.")
    outline_detection: bool | None = Field(
        default=None, description="With tag_handling, only true is served: block tags are always detected."
    )
    enable_beta_languages: bool | None = Field(default=None, description="Changes nothing: all languages are served.")
    tag_handling_version: str | None = Field(default=None, description="Has no effect: there is one version.")
    splitting_tags: Tags = Field(default=None, description="Refused with tag_handling, ignored without.")
    non_splitting_tags: Tags = Field(default=None, description="Refused with tag_handling, ignored without.")
    ignore_tags: Tags = Field(default=None, description="With tag_handling: elements whose content is not translated.")
    tag_handling: str | None = Field(
        default=None, description="html or xml: tags are kept, inline tags with their words. Otherwise texts are plain."
    )
    glossary_id: str | None = Field(default=None, description="One of /v3/glossaries; source_lang must be given, too.")
    glossary_ids: Tags = Field(
        default=None, description="Up to five; of a term that several have, the first glossary's translation is used."
    )
    style_id: Any = Field(default=None, description="Not served.")
    translation_memory_id: str | None = Field(
        default=None, description="One of /v3/translation_memories: its segments are used before the model."
    )
    translation_memory_threshold: int | None = Field(
        default=None,
        ge=0,
        le=100,
        description=THRESHOLD,
    )
    custom_instructions: Any = Field(default=None, description="Not served.")

    @property
    def markup(self) -> Kind | None:
        """None for plain texts."""
        return next((kind for kind in get_args(Kind) if kind == self.tag_handling), None)


class DeepLTranslation(BaseModel):
    detected_source_language: str
    text: str
    billed_characters: int = Field(description="Characters of the text; nobody is billed.")


class DeepLTranslations(BaseModel):
    translations: list[DeepLTranslation]


class DeepLLanguage(BaseModel):
    language: str
    name: str
    supports_formality: bool = False


class DeepLUsage(BaseModel):
    character_count: int = Field(description="Characters translated since the server started.")
    character_limit: int = Field(description="A number that is never reached: there is no limit.")


class DeepLDocument(BaseModel):
    document_id: str
    document_key: str


class DeepLKey(BaseModel):
    """The key that a document's status and result need."""

    model_config = ConfigDict(extra="forbid")

    document_key: str


class DeepLStatus(BaseModel):
    document_id: str
    status: Literal["queued", "translating", "done", "error"]
    seconds_remaining: int | None = Field(default=None, description="While it is translated, at the speed until now.")
    billed_characters: int | None = Field(default=None, description="When it is done.")
    error_message: str | None = Field(default=None, description="When it has failed.")
    notes: list[str] | None = Field(
        default=None, description="How the file was read, where that is not certain, and sentences to check."
    )


class DeepLError(BaseModel):
    """Every answer that is no success."""

    message: str
    detail: str | None = None
