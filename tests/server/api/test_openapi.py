"""The OpenAPI document declares what the table says, no more and no less."""

import httpx
import pytest

from server.api.errors import TABLE, documented
from tests.server.api.conftest import RunningServer

OPERATIONS = {
    ("/v1/translate", "post"): "translate",
    ("/v1/models", "get"): "probe",
    ("/v1/languages", "get"): "probe",
    ("/livez", "get"): "probe",
    ("/readyz", "get"): "probe",
    ("/metrics", "get"): None,
    ("/", "get"): None,
}


@pytest.fixture(scope="module")
def paths(server: RunningServer) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    document = httpx.get(f"{server.url}/openapi.json").json()
    paths: dict[str, dict[str, dict[str, dict[str, object]]]] = document["paths"]
    return paths


def test_every_operation_is_listed(paths: dict[str, dict[str, object]]) -> None:
    assert {(path, method) for path, methods in paths.items() for method in methods} == set(OPERATIONS)


@pytest.mark.parametrize(("operation", "kind"), OPERATIONS.items())
def test_statuses_are_the_tables(
    paths: dict[str, dict[str, dict[str, dict[str, object]]]], operation: tuple[str, str], kind: str | None
) -> None:
    path, method = operation
    declared = {int(status) for status in paths[path][method]["responses"]}
    rows = {"translate": ("translate", "probe"), "probe": ("probe",), None: ()}[kind]
    assert declared == {200} | {row.status for row in TABLE.values() if row.answered_by in rows}


def test_no_status_is_lost() -> None:
    everywhere = set(documented("translate")) | set(documented("probe"))
    assert everywhere == {row.status for row in TABLE.values() if row.answered_by != "router"}
    assert len({row.status for row in TABLE.values()}) == len(TABLE)


def test_the_body_is_described(paths: dict[str, dict[str, dict[str, dict[str, object]]]]) -> None:
    body = str(paths["/v1/translate"]["post"]["requestBody"])
    for field in ("text", "source", "target", "model", "beam_size", "num_hypotheses", "length_penalty", "max_length"):
        assert f"'{field}'" in body
    assert "'additionalProperties': False" in body
