"""The OpenAPI document: FastAPI's, with the schemas of our errors in place of FastAPI's, which no route uses."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from server.api.requests.forms import FORM_TYPES

_UNUSED = ("HTTPValidationError", "ValidationError")


class Application(FastAPI):
    """FastAPI adds its own 422 to routes that list none; here every route lists what it answers."""

    def __init__(self, *, error_models: Iterable[type[BaseModel]], **settings: Any) -> None:
        """`error_models`: the schemas of the errors that routes refer to (see `documented_error`)."""
        super().__init__(**settings)
        self._error_models = tuple(error_models)

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            for methods in document["paths"].values():
                for operation in methods.values():
                    if f"schemas/{_UNUSED[0]}" in str(operation["responses"].get("422")):
                        del operation["responses"]["422"]
            for name in _UNUSED:
                document["components"]["schemas"].pop(name, None)
            _, errors = models_json_schema(
                [(model, "validation") for model in self._error_models], ref_template="#/components/schemas/{model}"
            )
            document["components"]["schemas"] |= errors["$defs"]
        assert self.openapi_schema is not None
        return self.openapi_schema


def with_forms(model: str) -> dict[str, Any]:
    """The addition to a route's OpenAPI for a body that may also be a form; `model` is the name of its schema."""
    schema = {"schema": {"$ref": f"#/components/schemas/{model}"}}
    return {"requestBody": {"content": dict.fromkeys(FORM_TYPES, schema)}}
