"""Validates bodies, and turns a validation error into an answer: one sentence about one field."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from server.api.requests.errors import ApiError
from server.runtime.nearest_name import nearest

Body = TypeVar("Body", bound=BaseModel)

MOST_ERRORS = 100
"""Errors of one body, of which the answer names the first; a body with more is refused as a whole."""
_NO_OBJECT = ("missing", "model_attributes_type", "model_type", "dict_type")


def validated(model: type[Body], fields: object) -> Body:
    """The body as its model. Raises ApiError (422), RequestValidationError."""
    message = f"more than {MOST_ERRORS} fields or values of the body are not known or cannot be used"
    forbids = model.model_config.get("extra") == "forbid"
    if forbids and isinstance(fields, dict) and len(fields) > len(model.model_fields) + MOST_ERRORS:
        raise ApiError("invalid_value", message)
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        if error.error_count() > MOST_ERRORS:  # each becomes an object, and a body can have many
            raise ApiError("invalid_value", message) from None
        errors = error.errors(include_url=False, include_input=False)
        raise RequestValidationError([{**item, "loc": ("body", *item["loc"])} for item in errors]) from None


def first_error(error: RequestValidationError) -> Mapping[str, Any]:
    """The error to answer: an unknown field before others."""
    errors: Sequence[Mapping[str, Any]] = error.errors()
    return next((error for error in errors if error["type"] == "extra_forbidden"), errors[0])


def invalid_field(error: Mapping[str, Any], model: type[BaseModel] | None) -> ApiError:
    """The error as an answer (422). `model` is what the body should be."""
    _, *location = error["loc"]
    if not location and error["type"] in _NO_OBJECT:
        return ApiError("invalid_value", "the body must be a JSON object")
    message = str(error["msg"]).removeprefix("Input ").removeprefix("Value error, ")
    if not location:  # It is about several fields.
        return ApiError("invalid_value", message)
    if error["type"] == "extra_forbidden" and len(location) == 1 and model is not None:
        known = (field.alias or name for name, field in model.model_fields.items())
        message = f"unknown field '{location[0]}': {nearest(str(location[0]), known)}"
        return ApiError("invalid_value", message, str(location[0]))
    return ApiError("invalid_value", f"{path_of(location)}: {message}", str(location[0]))


def path_of(location: Sequence[str | int]) -> str:
    """A place in the body, written as items[3].target"""
    return "".join(f"[{item}]" if isinstance(item, int) else f".{item}" for item in location).removeprefix(".")
