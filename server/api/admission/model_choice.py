"""Requests for two languages that no single model translates, but two in turn."""

from server.api.admission.admitted_request import AdmittedRequest
from server.api.requests.errors import ApiError
from server.api.requests.limits import requested_options
from server.engine.request import SearchOptions
from server.translation.pivot import Pivot
from server.translation.translator import RequestedOptions, Translator


def two_models_between(
    admitted: AdmittedRequest,
    source: str,
    target: str,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    max_length: int | None = None,
) -> tuple[Pivot, SearchOptions] | None:
    """The two models and the options of the first; None where one model translates, or no two do. Both get the options
    of the request. Raises ApiError (422) for what one of them cannot do."""
    legs = admitted.legs(source, target)
    if legs is None:
        return None
    asked = [requested_options(leg, admitted.state.settings, beam_size, length_penalty, max_length) for leg in legs]
    options, then = (leg.options(**own, deadline=admitted.deadline) for leg, own in zip(legs, asked, strict=True))
    return Pivot(*legs, then), options


def legs_of(
    admitted: AdmittedRequest,
    model: str | None,
    source: str,
    target: str,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    max_length: int | None = None,
) -> tuple[tuple[Translator, ...], RequestedOptions]:
    """The model for a file or a document, or the two, and how each is searched. Raises ApiError."""
    legs = None if model is not None else admitted.legs(source, target)
    found = legs or (admitted.translator(model, source, target),)
    [asked, *_] = [
        requested_options(leg, admitted.state.settings, beam_size, length_penalty, max_length) for leg in found
    ]
    return found, asked


def refuse(pivot: Pivot, param: str, is_requested: bool) -> None:
    """Raise ApiError (422) if `param` was asked for, which needs a single model."""
    if is_requested:
        source, middle, target = (*pivot.first.languages, pivot.second.languages[1])
        message = f"{param}: not where two models translate, {source} to {middle} to {target}; leave it out"
        raise ApiError("invalid_value", message, param)
