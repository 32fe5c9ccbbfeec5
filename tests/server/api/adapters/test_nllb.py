"""Clients of nllb-serve and nllb-api: Subtitle Edit, Zotero."""

from tests.server.api.conftest import RunningServer
from tests.server.api.libretranslate.test_routes import TEXT, direct

LANGUAGES = {"src_lang": "eng_Latn", "tgt_lang": "deu_Latn"}


def test_nllb_serve(server: RunningServer) -> None:
    """Subtitle Edit sends the lines of a cue, Zotero one string; both read a list."""
    with server.client() as http:
        lines = http.post("/nllb/translate", json={"source": ["Yes.", TEXT], **LANGUAGES}).json()
        single = http.post("/nllb/translate", json={"source": TEXT, **LANGUAGES}).json()
    assert lines["translation"] == [direct(server, "Yes."), direct(server, TEXT)]
    assert single["translation"] == [direct(server, TEXT)]
    assert (single["src_lang"], single["tgt_lang"], single["source"]) == ("eng_Latn", "deu_Latn", [TEXT])


def test_nllb_api(server: RunningServer) -> None:
    """Subtitle Edit posts, Zotero gets."""
    fields = {"text": TEXT, "source": "eng_Latn", "target": "deu_Latn"}
    with server.client() as http:
        assert http.post("/nllb/translator", json=fields).json() == {"result": direct(server, TEXT)}
        assert http.get("/nllb/api/v4/translator", params=fields).json() == {"result": direct(server, TEXT)}
        refused = http.get("/nllb/api/v4/translator", params={**fields, "target": "fra_Latn"})
    assert (refused.status_code, refused.json()) == (400, {"error": "fra_Latn is not supported"})
