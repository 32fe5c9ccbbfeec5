"""The languages of a request's texts, named or detected, as the server calls them."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.api.admission.detection import Detected, detect_sources
from server.api.requests.errors import ApiError
from server.api.serving.language_codes import served_code
from server.api.serving.server_state import ServerState

CERTAIN = 100.0
"""The confidence of a language that the client named."""


@dataclass(frozen=True)
class TextLanguages:
    """Served codes. `sources`: the language of every text; `target`: the language to translate into."""

    sources: list[Detected]
    target: str


async def languages_of(state: ServerState, texts: Sequence[str], source: str | None, target: str) -> TextLanguages:
    """Codes as clients write them, as served codes (see `served_code`); without a `source` each text's language is
    detected. Source and target may be the same. Raises ApiError (422) that names the code that is not served."""
    routes = state.routes
    into = routes.closest_language(target)
    if source is not None and routes.closest_language(source) == into and routes.serves(into):
        return TextLanguages([Detected(into, CERTAIN)] * len(texts), into)
    served = routes.known_languages
    named = None if source is None else served_code(source, served)
    if source is not None and named is None:
        raise ApiError("invalid_value", f"{source} is not supported", "source")
    fitting = routes.sources_into(into)
    if not fitting or (named is not None and named not in fitting):
        raise ApiError("invalid_value", f"{target} is not supported", "target")
    if named is not None:
        return TextLanguages([Detected(named, CERTAIN)] * len(texts), into)
    return TextLanguages(await detect_sources(texts, fitting, into), into)
