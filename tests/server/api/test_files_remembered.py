"""Files with a translation memory, by all routes and by the command line."""

import io
from pathlib import Path

import deepl
import httpx
import pytest

from server.cli.translate_files import memory_of, translate_files
from server.translation.translator import RequestedOptions
from tests.server.api.conftest import RunningServer, until
from tests.server.api.test_file_routes import DEEPL, FORM

KNOWN, SENTENCE, NEAR = "We walk home. It is late.", "Where is the station?", "There are 7 blue houses here."
ENTRIES = {
    KNOWN: "Wir laufen heim, denn es ist sp\u00e4t.",
    SENTENCE: "Wo, bitte, ist der Bahnhof?",
    "There are 7 blue houses there.": "Dort stehen 7 blaue H\u00e4user.",
}
TEXT = f"  {KNOWN}\n\nShe sells bread. {SENTENCE}\n\n{NEAR}\n"
PAGE = f"<p>{KNOWN}</p><p>She sells bread. {SENTENCE}</p><p>Where is <b>the</b> station?</p>"


@pytest.fixture(scope="module")
def memory(server: RunningServer) -> str:
    entries = [{"source": source, "target": target} for source, target in ENTRIES.items()]
    with server.client() as client:
        made: str = client.post("/v1/translation_memories", json={"name": "files", **FORM}).json()["id"]
        assert client.post(f"/v1/translation_memories/{made}/entries", json={"entries": entries}).status_code == 200
    return made


def native(client: httpx.Client, text: str, memory: str | None, name: str = "a.txt") -> str:
    fields = FORM if memory is None else {**FORM, "translation_memory_id": memory}
    answer = client.post("/v1/files", data=fields, files={"file": (name, text.encode())})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_texts_and_sentences_of_a_file_are_taken_from_the_memory(server: RunningServer, memory: str) -> None:
    with server.client() as client:
        plain, known = native(client, TEXT, None), native(client, TEXT, memory)
        assert known.count(ENTRIES[SENTENCE]) == 1
        assert known.splitlines()[0] == plain.splitlines()[0], "two sentences of a longer text are no entry"
        assert known.splitlines()[-1] == plain.splitlines()[-1], "a similar entry is not used"
        page = native(client, PAGE, memory, "a.html")
        assert f"<p>{ENTRIES[KNOWN]}</p>" in page
        assert page.count(ENTRIES[SENTENCE]) == 1, "an entry has no place for tags"
        assert page.count("<b>") == 1
        assert native(client, f"{SENTENCE}\n", memory) == f"{ENTRIES[SENTENCE]}\n", "the model has nothing to do"


def test_all_ways_use_it_alike(server: RunningServer, memory: str, tmp_path: Path) -> None:
    with server.client() as client:
        expected = native(client, TEXT, memory)
        later = client.post(
            "/v1/files",
            data={**FORM, "translation_memory_id": memory},
            files={"file": ("a.txt", TEXT.encode())},
            headers={"Prefer": "respond-async"},
        ).headers["Location"]
        until(lambda: bool(client.get(later).json()["state"] == "done"), "the file is translated")
        assert client.get(f"{later}/result").text == expected
        assert client.get(later).json()["fraction"] == 1
        libre = client.post(
            "/translate_file", data={**FORM, "translation_memory_id": memory}, files={"file": ("a.txt", TEXT.encode())}
        )
        assert client.get(libre.json()["translatedFileUrl"]).text == expected
        tmx = client.get(f"/v1/translation_memories/{memory}/export").content
    (tmp_path / "project.tmx").write_bytes(tmx)
    (tmp_path / "a.txt").write_text(TEXT)
    [translator] = server.state.translators.values()
    beam = server.state.settings.default_beam_size
    options = RequestedOptions(beam_size=beam, length_penalty=None, max_length=None)
    entries = memory_of(tmp_path / "project.tmx", translator.languages)
    assert translate_files(translator, [tmp_path / "a.txt"], None, options, "offline", 10**6, memory=entries) == 0
    assert (tmp_path / "a.de.txt").read_text() == expected


def test_deepls_documents_take_similar_segments_from_the_threshold_on(server: RunningServer, memory: str) -> None:
    client = deepl.DeepLClient("any", server_url=server.url, send_platform_info=False)

    def translated(text: str, **fields: object) -> str:
        out = io.BytesIO()
        client.translate_document(
            io.BytesIO(text.encode()),
            out,
            source_lang="EN",
            target_lang="DE",
            filename="a.txt",
            extra_body_parameters={"translation_memory_id": memory, **fields},
        )
        return out.getvalue().decode()

    similar = ENTRIES["There are 7 blue houses there."]
    assert similar not in translated(NEAR)
    assert translated(NEAR, translation_memory_threshold=80) == similar
    assert similar not in translated(NEAR.replace("7", "8"), translation_memory_threshold=80), "another number"
    assert translated(SENTENCE) == ENTRIES[SENTENCE]


def test_memories_that_a_file_cannot_use(server: RunningServer, memory: str, tmp_path: Path) -> None:
    file = {"file": ("a.txt", TEXT.encode())}
    with server.client() as client:
        for path, form in (("/v1/files", FORM), ("/translate_file", FORM), ("/v2/document", DEEPL)):
            answer = client.post(path, data={**form, "translation_memory_id": "none"}, files=file)
            assert answer.status_code == 404, path
        threshold = {**DEEPL, "translation_memory_threshold": "80"}
        assert client.post("/v2/document", data=threshold, files=file).status_code == 400
    for name, content, message in (
        ("a.txt", "", "must end with .tmx"),
        ("a.tmx", "<tmx>", "no well-formed XML"),
        ("a.csv", "", "no pair from en to de"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=message):
            memory_of(tmp_path / name, ("en", "de"))


def test_a_file_of_equal_sentences_with_long_entries_is_refused(server: RunningServer) -> None:
    with server.client() as client:
        made = client.post("/v1/translation_memories", json={"name": "long", **FORM}).json()["id"]
        entries = {"entries": [{"source": "Yes.", "target": "J" + 3990 * "a"}]}
        client.post(f"/v1/translation_memories/{made}/entries", json=entries)
        answer = client.post(
            "/v1/files",
            data={**FORM, "translation_memory_id": made},
            files={"file": ("a.txt", b"Yes.\n\n" * 300)},
        )
        assert answer.status_code == 413, answer.text
