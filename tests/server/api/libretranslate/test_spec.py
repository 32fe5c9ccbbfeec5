"""LibreTranslate's description of itself."""

from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.server.api.conftest import RunningServer


def test_clients_know_the_server_by_its_title(server: RunningServer) -> None:
    """Dialect, of GNOME, takes a server whose /spec has another title for no LibreTranslate."""
    with server.client() as http:
        found = http.get("/spec").json()
        whole = http.get("/openapi.json").json()
    assert found["info"]["title"] == "LibreTranslate"
    assert found["info"]["version"] == whole["info"]["version"]
    assert [error.message for error in OpenAPIV31SpecValidator(found).iter_errors()] == []
    assert {"/translate", "/detect", "/languages", "/frontend/settings"} <= set(found["paths"])
    assert not any(path.startswith(("/v1", "/v2", "/v3")) for path in found["paths"])
    assert list(found["paths"]["/translate"]) == ["post"]
    assert all(methods.items() <= whole["paths"][path].items() for path, methods in found["paths"].items())
    assert 0 < len(found["components"]["schemas"]) < len(whole["components"]["schemas"])
