"""MTranServer's clients."""

from tests.server.api.adapters.conftest import Locked
from tests.server.api.conftest import RunningServer
from tests.server.api.libretranslate.test_routes import TEXT, direct


def test_zotero(locked: Locked) -> None:
    """Its secret is the whole Authorization."""
    body = {"text": TEXT, "from": "en", "to": "de"}
    with locked.server.client() as http:
        answer = http.post("/mtran/translate", json=body, headers={"Authorization": locked.secret})
        assert answer.status_code == 200
        assert set(answer.json()) == {"result"}
        for headers in ({}, {"Authorization": "wrong"}, {"Authorization": f"Basic {locked.secret}"}):
            refused = http.post("/mtran/translate", json=body, headers=headers)
            assert (refused.status_code, set(refused.json())) == (401, {"error"})
        assert http.post("/mtran/translate", params={"token": locked.secret}, json=body).json() == answer.json()


def test_one_text_many_and_html(server: RunningServer) -> None:
    pair = {"from": "auto", "to": "de"}
    with server.client() as http:
        assert http.post("/mtran/translate", json={"text": TEXT, **pair}).json() == {"result": direct(server, TEXT)}
        batch = http.post("/mtran/translate/batch", json={"texts": [TEXT, "Yes."], **pair}).json()
        assert batch == {"results": [direct(server, TEXT), direct(server, "Yes.")]}
        page = {"text": f"<p>{TEXT}</p>", "html": True, **pair}
        assert http.post("/mtran/translate", json=page).json() == {"result": f"<p>{direct(server, TEXT)}</p>"}
