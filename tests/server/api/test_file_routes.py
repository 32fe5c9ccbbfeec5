"""A file comes back the same from the command line and from all routes that take files."""

from pathlib import Path

import httpx
import pytest

from server.cli.translate_files import translate_files
from server.files.formats.registry import FORMATS, translated_name
from server.translation.translator import RequestedOptions
from tests.server.api.conftest import PATIENCE, RunningServer, until
from tests.server.files.some import small_files

FORM = {"source": "en", "target": "de"}
DEEPL = {"source_lang": "EN", "target_lang": "DE"}
FILES = small_files()


def by_native(http: httpx.Client, name: str, data: bytes) -> bytes:
    return http.post("/v1/files", data=FORM, files={"file": (name, data)}).content


def by_native_later(http: httpx.Client, name: str, data: bytes) -> bytes:
    later = http.post("/v1/files", data=FORM, files={"file": (name, data)}, headers={"Prefer": "respond-async"})
    path = later.headers["Location"]
    until(lambda: bool(http.get(path).json()["state"] == "done"), "the file is translated")
    return http.get(f"{path}/result").content


def by_libretranslate(http: httpx.Client, name: str, data: bytes) -> bytes:
    answer = http.post("/translate_file", data=FORM, files={"file": (name, data)})
    return http.get(answer.json()["translatedFileUrl"]).content


def by_deepl(http: httpx.Client, name: str, data: bytes) -> bytes:
    made = http.post("/v2/document", data=DEEPL, files={"file": (name, data)}).json()
    path, key = f"/v2/document/{made['document_id']}", {"document_key": made["document_key"]}
    until(lambda: bool(http.post(path, data=key).json()["status"] == "done"), "the document is done")
    return http.post(f"{path}/result", data=key).content


@pytest.fixture(scope="module")
def by_command(server: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that has, for every file, a folder with what `ringmt translate FILE` makes of it."""
    folder = tmp_path_factory.mktemp("files")
    paths = [folder / name for name in FILES]
    for path in paths:
        path.write_bytes(FILES[path.name])
    [translator] = server.state.translators.values()
    options = RequestedOptions(beam_size=server.state.settings.default_beam_size, length_penalty=None, max_length=None)
    for path in paths:
        assert translate_files(translator, [path], folder / "de" / path.name, options, "offline", 1_000_000) == 0
    return folder / "de"


def test_every_format_is_tried() -> None:
    assert {f"small{suffix}" for suffix in FORMATS} <= FILES.keys()


@pytest.mark.parametrize("name", FILES)
def test_all_ways_translate_a_file_alike(server: RunningServer, by_command: Path, name: str) -> None:
    expected = (by_command / name / translated_name(name, "de")).read_bytes()
    assert expected != FILES[name]
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        for way in (by_native, by_native_later, by_libretranslate, by_deepl):
            assert way(http, name, FILES[name]) == expected, way.__name__


def test_no_translation_takes_the_place_of_another(
    server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A PDF file becomes a page, and files of several folders may have one name."""
    paths = [tmp_path / "a" / "small.txt", tmp_path / "b" / "small.txt"]
    for path, text in zip(paths, (b"We walk home.", b"Yes."), strict=True):
        path.parent.mkdir()
        path.write_bytes(text)
    [translator] = server.state.translators.values()
    options = RequestedOptions(beam_size=1, length_penalty=None, max_length=None)
    assert translate_files(translator, paths, tmp_path / "de", options, "offline", 1_000_000) == 1
    [output] = (tmp_path / "de").iterdir()
    assert f"{paths[1]}: {output} is the translation of {paths[0]} already" in capsys.readouterr().err
