"""Limits of one request: sizes of texts, widths of searches."""

from collections.abc import Sequence
from typing import Literal

from server.api.requests.errors import ApiError
from server.files.file_translation import SHORTEST_SENTENCE
from server.settings import Settings
from server.text.checks.address import LANGUAGE, SOURCES, Formality
from server.translation.translator import RequestedOptions, Translator

FormalityOption = Literal["default", "more", "less", "prefer_more", "prefer_less"]
"""How formally the reader is addressed, in DeepL's words: what is preferred is ignored where it is not possible."""
FORMALITY = (
    "How the reader is addressed: `more` formally or `less`, where /v1/languages lists it for the target; with "
    "`prefer_`, where it is possible."
)
FIRST_TEXTS = 1000
"""Texts that a document may have whatever its length."""


def check_sizes(texts: Sequence[str], settings: Settings, param: str = "text") -> None:
    """Raise ApiError (413) that names the limit."""
    if len(texts) > settings.max_texts:
        raise ApiError("too_large", f"{len(texts)} texts, at most {settings.max_texts} in one request", param)
    check_chars(texts, settings, param)


def most_document_texts(settings: Settings) -> int:
    """How many texts a document may have: as many as a file."""
    return FIRST_TEXTS + settings.max_total_chars // SHORTEST_SENTENCE


def check_document(texts: Sequence[str], settings: Settings, param: str) -> None:
    """Raise ApiError (413) that names the limit, for the texts of one document."""
    most = most_document_texts(settings)
    if len(texts) > most:
        raise ApiError("too_large", f"{len(texts)} texts, at most {most} in one document", param)
    check_chars(texts, settings, param)


def check_chars(texts: Sequence[str], settings: Settings, param: str) -> None:
    """Raise ApiError (413) that names the limit."""
    for index, text in enumerate(texts):
        if len(text) > settings.max_text_chars:
            message = f"text {index} has {len(text)} characters, at most {settings.max_text_chars} are taken"
            raise ApiError("too_large", message, param)
    check_total(texts, settings, param)


def check_total(texts: Sequence[str], settings: Settings, param: str) -> None:
    """Raise ApiError (413) that names the limit."""
    total = sum(map(len, texts))
    if total > settings.max_total_chars:
        raise ApiError("too_large", f"{total} characters, at most {settings.max_total_chars} in one request", param)


def requested_options(
    models: Sequence[Translator],
    settings: Settings,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    max_length: int | None = None,
    formality: FormalityOption | None = None,
) -> RequestedOptions:
    """The request's options, with the server's defaults for those that it lacks. `models`: one, or both of two. Raises
    ApiError (422) for what this server or one of the models cannot do."""
    beam_size = settings.default_beam_size if beam_size is None else beam_size
    widest = settings.engine.max_beam_size
    if beam_size > widest:
        message = f"beam_size: must be at most {widest} on this server, not {beam_size}"
        raise ApiError("invalid_value", message, "beam_size")
    for model in models:
        longest = model.artifact.manifest.max_target_length
        if max_length is not None and max_length > longest:
            message = f"max_length: must be at most {longest} for model '{model.name}', not {max_length}"
            raise ApiError("invalid_value", message, "max_length")
    requested = RequestedOptions(beam_size=beam_size, length_penalty=length_penalty, max_length=max_length)
    chosen = _chosen_formality(models[-1], formality)
    if chosen is not None:
        requested["formality"] = chosen
    return requested


def _chosen_formality(last: Translator, option: FormalityOption | None) -> Formality | None:
    """The form of address that the `last` model is to use; None for a preference that it cannot follow. Raises
    ApiError (422)."""
    if option is None or option == "default":
        return None
    if last.supports_formality:
        return "more" if option in ("more", "prefer_more") else "less"
    if option in ("more", "less"):
        message = f"formality: '{option}' is for {' and '.join(SOURCES)} to {LANGUAGE} only; leave it out, or prefer it"
        raise ApiError("invalid_value", f"{message} ('prefer_{option}')", "formality")
    return None


def check_hypotheses(count: int, requested: RequestedOptions) -> None:
    """Raise ApiError (422) for more translations than the beam has hypotheses."""
    beam_size = requested["beam_size"]
    if count > beam_size:
        message = f"num_hypotheses: must be at most beam_size ({beam_size}), not {count}"
        raise ApiError("invalid_value", message, "num_hypotheses")
