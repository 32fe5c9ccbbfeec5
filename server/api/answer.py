"""Answers as JSON."""

from fastapi import Response
from pydantic import BaseModel


def written(answer: BaseModel) -> Response:
    """The answer without what is None; not left to FastAPI, which would check it again."""
    return Response(answer.model_dump_json(exclude_none=True), media_type="application/json")
