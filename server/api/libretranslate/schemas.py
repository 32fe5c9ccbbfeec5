"""The fields of LibreTranslate's API. Unknown fields are ignored, because its clients send more than is needed."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from server.api.requests.body import parse
from server.api.requests.errors import ApiError
from server.api.requests.fields import MOST_TERMS, Term, check_text
from server.runtime.offload import offload_above
from server.text.protect.terms import Terms


def as_object(value: Any) -> Any:
    """A text that is JSON becomes its value, an empty one None."""
    if not isinstance(value, str):
        return value
    try:
        return parse(value.encode()) if value else None
    except (ApiError, UnicodeEncodeError):
        raise PydanticCustomError("object_type", "must be a JSON object") from None


API_KEY = Field(default=None, description="On a server with keys: one of them, if no header has it.")
Texts = Annotated[str | list[str], BeforeValidator(check_text)]


class LibreTranslateRequest(BaseModel):
    """`POST /translate`: JSON, a form, or the query of a request without a body."""

    q: Texts = Field(description="A text or a list of texts.", examples=["Hello world."])
    source: str = Field(description='Language of the text, or "auto".', examples=["en"])
    target: str = Field(description="Language to translate into.", examples=["de"])
    format: Annotated[str, BeforeValidator(lambda value: value or "text")] = Field(
        default="text", description="text, or html: tags are kept, inline tags with their words."
    )
    alternatives: Annotated[int, BeforeValidator(lambda value: value or 0)] = Field(
        default=0, ge=0, description="Other translations of each text, at most the server's widest beam."
    )
    glossary: Annotated[dict[Term, Term] | None, BeforeValidator(as_object)] = Field(
        default=None,
        max_length=MOST_TERMS,
        description="Terms and their translations, as in /v1/translate; in a form, as JSON.",
        examples=[{"bug report": "Fehlerbericht"}],
    )
    translation_memory_id: str | None = Field(
        default=None,
        description="One of /v1/translation_memories: entries with equal sources are used before the model.",
    )
    scores: Annotated[bool, BeforeValidator(lambda value: value or False)] = Field(
        default=False, description="Whether the answer has `score` and `flags`."
    )
    api_key: str | None = API_KEY

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q

    async def read_terms(self) -> Terms | None:
        """The glossary's terms; a large one is indexed in a thread."""
        return await offload_above(sum(map(len, self.glossary)), Terms, self.glossary) if self.glossary else None


class LibreSuggestRequest(BaseModel):
    """`POST /suggest`."""

    q: Annotated[str, BeforeValidator(check_text)] = Field(description="The text.", examples=["Hello world."])
    s: Annotated[str, BeforeValidator(check_text)] = Field(
        description="A better translation of it.", examples=["Hallo Welt."]
    )
    source: str = Field(description='Language of the text, or "auto".', examples=["en"])
    target: str = Field(description="Language of the translation.", examples=["de"])
    api_key: str | None = API_KEY


class LibreSuggestion(BaseModel):
    success: Literal[True] = True
    translation_memory_id: str = Field(description="The translation memory that keeps it, of the key that suggests.")


class LibreDetectRequest(BaseModel):
    """`POST /detect`."""

    q: Texts = Field(description="The text.", examples=["Guten Morgen!"])
    api_key: str | None = API_KEY

    @property
    def text(self) -> str:
        return self.q if isinstance(self.q, str) else "\n".join(self.q)


class LibreDetection(BaseModel):
    confidence: float = Field(description="0 to 100.")
    language: str


class LibreTranslation(BaseModel):
    """Strings for a request with one text, lists for a request with a list."""

    translatedText: str | list[str]
    detectedLanguage: LibreDetection | list[LibreDetection] | None = Field(default=None, description='Only for "auto".')
    alternatives: list[str] | list[list[str]] | None = Field(
        default=None, description="Only when alternatives were requested."
    )
    score: float | list[float] | None = Field(
        default=None, description="Only with scores: the sum of the log-probabilities of a text's sentences."
    )
    flags: list[str] | list[list[str]] | None = Field(
        default=None, description="Only with scores: what looks wrong in a text, as in /v1/translate."
    )


class LibreLanguage(BaseModel):
    code: str
    name: str
    targets: list[str] | None = None


class LibreFile(BaseModel):
    translatedFileUrl: str
    notes: list[str] | None = Field(
        default=None, description="How it was read, where that is not certain, and sentences to check."
    )


class LibreChoice(BaseModel):
    source: LibreLanguage
    target: LibreLanguage


class LibreSettings(BaseModel):
    """Settings for a web page that uses the API."""

    apiKeys: bool = False
    charLimit: int = Field(description="Characters of one text at most.")
    filesTranslation: bool = True
    frontendTimeout: int = Field(default=500, description="Milliseconds after the last key before a page asks.")
    keyRequired: bool = False
    language: LibreChoice
    suggestions: bool = False
    supportedFilesFormat: list[str]


class LibreError(BaseModel):
    """Every error."""

    error: str
