"""Turns a validation error into an answer: one sentence about one field."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel

from server.api.requests.errors import ApiError
from server.settings import nearest

_NO_OBJECT = ("missing", "model_attributes_type", "model_type", "dict_type")


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
