"""Answers as JSON."""

from fastapi import Response
from pydantic import BaseModel


def written(answer: BaseModel) -> Response:
    """The answer as JSON, without fields that are None. FastAPI would validate it a second time."""
    return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")
