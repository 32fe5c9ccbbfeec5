"""Requests that two models translate, through a language between them."""

from server.api.admission.admitted_request import AdmittedRequest
from server.api.requests.errors import ApiError
from server.api.serving.routing import TwoModels
from server.engine.request import SearchOptions
from server.translation.pivot import Pivot
from server.translation.translator import RequestedOptions


def pivot_of(route: TwoModels, requested: RequestedOptions, admitted: AdmittedRequest) -> tuple[Pivot, SearchOptions]:
    """The two models, which both search as the request says, and the search options of the first."""
    first, second = (model.options(**requested, deadline=admitted.deadline) for model in route.models)
    return Pivot(route.first, route.second, second), first


def refuse(route: TwoModels, param: str, is_requested: bool) -> None:
    """Raise ApiError (422) if `param`, which needs a single model, was requested."""
    if is_requested:
        message = f"{param}: not where two models translate, {' to '.join(route.languages)}; leave it out"
        raise ApiError("invalid_value", message, param)
