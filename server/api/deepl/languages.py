"""Languages and options of DeepL's API as the server has them."""

from collections.abc import Sequence

from server.api.admission.admitted_request import AdmittedRequest
from server.api.admission.detection import Detected, detect_sources
from server.api.requests.errors import ApiError
from server.api.requests.limits import FormalityOption, requested_options
from server.api.serving.language_codes import served_code
from server.api.serving.server_state import ServerState
from server.settings import Settings
from server.translation.translator import RequestedOptions, Translator


async def sources_of(
    state: ServerState, texts: Sequence[str], source_lang: str | None, target_lang: str
) -> list[Detected]:
    """The language of every text, as a served code unless it is foreign. Raises ApiError for languages that are not
    served."""
    fitting = state.routes.sources_into(target_lang)
    check_served("target_lang", bool(fitting))
    if not source_lang:
        return await detect_sources(texts, fitting, any_target(state, target_lang))
    source = served_code(source_lang, fitting)
    if source is None:
        raise ApiError("invalid_value", "Value for 'source_lang' not supported.", "source_lang")
    return [Detected(source, 100.0)] * len(texts)


def any_target(state: ServerState, target_lang: str) -> str:
    """The served code of a target that some source has."""
    target = served_code(target_lang, sorted(set().union(*state.routes.known_languages.values())))
    assert target is not None
    return target


def target_of(admitted: AdmittedRequest, source: str, target_lang: str) -> str:
    target = served_code(target_lang, admitted.state.routes.known_languages[source])
    assert target is not None
    return target


def check_served(name: str, is_served: bool) -> None:
    """Raise ApiError for an option that cannot be honoured."""
    if not is_served:
        raise ApiError("invalid_value", f"Value for '{name}' not supported.", name)


def options_of(models: Sequence[Translator], settings: Settings, formality: FormalityOption | None) -> RequestedOptions:
    """Raises ApiError for a formality that the models do not know."""
    try:
        return requested_options(models, settings, formality=formality)
    except ApiError:
        check_served("formality", False)
        raise


def shown_code(code: str) -> str:
    """A source language as this API writes it, without region."""
    return code.partition("-")[0].upper()
