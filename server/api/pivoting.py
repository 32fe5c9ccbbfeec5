"""Requests for two languages that no single model translates, but two in turn."""

from server.api.errors import ApiError
from server.api.limits import asked_options
from server.api.visit import Visit
from server.engine.request import SearchOptions
from server.pivot import Pivot
from server.translator import AskedOptions, Translator


def pivot_between(
    visit: Visit,
    source: str,
    target: str,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    max_length: int | None = None,
) -> tuple[Pivot, SearchOptions] | None:
    """The two models and the options of the first; None where one model translates, or no two do. Both get the options
    of the request. Raises ApiError (422) for what one of them cannot do."""
    legs = visit.legs(source, target)
    if legs is None:
        return None
    asked = [asked_options(leg, visit.state.settings, beam_size, length_penalty, max_length) for leg in legs]
    options, then = (leg.options(**own, deadline=visit.deadline) for leg, own in zip(legs, asked, strict=True))
    return Pivot(*legs, then), options


def legs_of(
    visit: Visit,
    model: str | None,
    source: str,
    target: str,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    max_length: int | None = None,
) -> tuple[tuple[Translator, ...], AskedOptions]:
    """The model for a file or a document, or the two, and how each is searched. Raises ApiError."""
    legs = None if model is not None else visit.legs(source, target)
    found = legs or (visit.translator(model, source, target),)
    [asked, *_] = [asked_options(leg, visit.state.settings, beam_size, length_penalty, max_length) for leg in found]
    return found, asked


def refuse(pivot: Pivot, param: str, is_asked: bool) -> None:
    """Raise ApiError (422) if `param` was asked for, which needs a single model."""
    if is_asked:
        source, middle, target = (*pivot.first.languages, pivot.second.languages[1])
        message = f"{param}: not where two models translate, {source} to {middle} to {target}; leave it out"
        raise ApiError("invalid_value", message, param)
