"""The OpenAPI document declares what the table says, no more and no less."""

from typing import get_args

import httpx
import pytest

from server.api.errors import TABLE, Route, documented
from tests.server.api.conftest import RunningServer

OPERATIONS: dict[tuple[str, str], tuple[Route | None, set[int]]] = {
    ("/v1/translate", "post"): ("translate", {200}),
    ("/v1/score", "post"): ("translate", {200}),
    ("/v1/documents", "post"): ("document write", {200, 202}),
    ("/v1/documents/{document_id}", "get"): ("document read", {200}),
    ("/v1/documents/{document_id}", "delete"): ("document read", {204}),
    ("/v1/documents/{document_id}/result", "get"): ("document read", {200}),
    ("/v1/documents/{document_id}/sentences", "post"): ("document write", {200}),
    ("/v1/documents/{document_id}/sentences/{index}", "put"): ("document write", {200, 202}),
    ("/v1/documents/{document_id}/sentences/{index}/context", "get"): ("document read", {200}),
    ("/v1/models", "get"): ("probe", {200}),
    ("/v1/languages", "get"): ("probe", {200}),
    ("/livez", "get"): ("probe", {200}),
    ("/readyz", "get"): ("probe", {200}),
    ("/metrics", "get"): (None, {200}),
    ("/", "get"): (None, {200}),
}


@pytest.fixture(scope="module")
def paths(server: RunningServer) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    document = httpx.get(f"{server.url}/openapi.json").json()
    paths: dict[str, dict[str, dict[str, dict[str, object]]]] = document["paths"]
    return paths


def test_every_operation_is_listed(paths: dict[str, dict[str, object]]) -> None:
    assert {(path, method) for path, methods in paths.items() for method in methods} == set(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_statuses_are_the_tables(
    paths: dict[str, dict[str, dict[str, dict[str, object]]]], operation: tuple[str, str]
) -> None:
    path, method = operation
    kind, good = OPERATIONS[operation]
    declared = {int(status) for status in paths[path][method]["responses"]}
    assert declared == good | {row.status for row in TABLE.values() if kind in row.answered_by}


def test_no_status_is_lost() -> None:
    everywhere = set().union(*(documented(route) for route in get_args(Route)))
    assert everywhere == {row.status for row in TABLE.values() if row.answered_by}
    assert len({row.status for row in TABLE.values()}) == len(TABLE)


def test_the_body_is_described(paths: dict[str, dict[str, dict[str, dict[str, object]]]]) -> None:
    body = str(paths["/v1/translate"]["post"]["requestBody"])
    for field in (
        "text",
        "source",
        "target",
        "model",
        "beam_size",
        "num_hypotheses",
        "length_penalty",
        "max_length",
        "context",
    ):
        assert f"'{field}'" in body
    assert "'additionalProperties': False" in body
