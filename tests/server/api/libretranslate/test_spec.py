"""LibreTranslate's description of itself."""

from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.server.api.conftest import RunningServer


def test_clients_know_the_server_by_its_title(server: RunningServer) -> None:
    """Dialect, of GNOME, takes a server whose /spec has another title for no LibreTranslate."""
    with server.client() as http:
        result = http.get("/spec").json()
        whole = http.get("/openapi.json").json()
    assert result["info"]["title"] == "LibreTranslate"
    assert result["info"]["version"] == whole["info"]["version"]
    assert [error.message for error in OpenAPIV31SpecValidator(result).iter_errors()] == []
    assert {"/translate", "/detect", "/languages", "/frontend/settings"} <= set(result["paths"])
    assert not any(path.startswith(("/v1", "/v2", "/v3")) for path in result["paths"])
    assert list(result["paths"]["/translate"]) == ["post"]
    assert all(methods.items() <= whole["paths"][path].items() for path, methods in result["paths"].items())
    assert 0 < len(result["components"]["schemas"]) < len(whole["components"]["schemas"])
