"""Answers as JSON, written by pydantic: FastAPI would validate each answer again, and convert it to Python objects
first. A large answer is built and written in a thread: `offload_above(size, lambda: written(build()))`."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import takewhile
from typing import Any, Final, TypedDict

from fastapi import Response
from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

from server.runtime.checkpoints import checkpoint

JSON = "application/json"
AT_ONCE: Final = 100
"""Elements of a list that are written in one call, which holds the interpreter lock."""


class _LeftOut(TypedDict):
    exclude_none: bool
    exclude_unset: bool


def written(answer: BaseModel) -> Response:
    """The answer without fields that are None."""
    return Response(json_of(answer, exclude_none=True), media_type=JSON)


def written_whole(answer: BaseModel) -> Response:
    """The answer with all of its fields."""
    return Response(json_of(answer), media_type=JSON)


def written_as_set(answer: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The answer without fields that were not set; those that were may be null."""
    return Response(json_of(answer, exclude_unset=True), status, headers, JSON)


def json_of(answer: BaseModel, exclude_none: bool = False, exclude_unset: bool = False) -> bytes:
    """What `model_dump_json` gives, written in short calls with a checkpoint after each."""
    return b"".join(_pieces(answer, _LeftOut(exclude_none=exclude_none, exclude_unset=exclude_unset)))


def _pieces(answer: BaseModel, left_out: _LeftOut) -> Iterator[bytes]:
    checkpoint()
    if not _is_long(answer):
        yield answer.model_dump_json(**left_out).encode()
        return
    before = b"{"
    for name, value in answer:
        if _is_list(value) and (name in answer.model_fields_set or not left_out["exclude_unset"]):
            yield before + to_json(name) + b":["
            yield from _elements(value, left_out)
            yield b"]"
        elif field := answer.model_dump_json(include={name}, **left_out).encode()[1:-1]:
            yield before + field
        else:
            continue
        before = b","
    yield b"}"


def _elements(models: list[BaseModel], left_out: _LeftOut) -> Iterator[bytes]:
    """The elements of a list: long ones by themselves, others many at a time."""
    start, comma = 0, b""
    while start < len(models):
        checkpoint()
        short = list(takewhile(lambda value: not _is_long(value), models[start : start + AT_ONCE]))
        yield comma
        if short:
            yield _list_of(type(short[0])).dump_json(short, **left_out)[1:-1]
        else:
            yield from _pieces(models[start], left_out)
        start, comma = start + max(1, len(short)), b","


@cache
def _list_of(kind: type[BaseModel]) -> TypeAdapter[list[BaseModel]]:
    return TypeAdapter(list[kind])  # type: ignore[valid-type]


def _is_long(answer: BaseModel) -> bool:
    return any(
        _is_list(value) and (len(value) > AT_ONCE or any(map(_is_long, value))) for value in vars(answer).values()
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], BaseModel)
