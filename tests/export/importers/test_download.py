"""Models from addresses: what is given with its SHA-256 is imported, and nothing else is asked for."""

import gzip
import hashlib
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from export.importers import ImportRefused
from export.importers.download import Address, download
from export.importers.local_path import local_path
from tests.export.importers.argos.test_packages import run
from tests.export.importers.ctranslate2.make_models import write_package, write_zip
from tests.export.importers.marian_nmt.make_models import DATA
from tests.export.importers.marian_nmt.test_files import run_import


class Files(BaseHTTPRequestHandler):
    """Serves `files`; /to?ADDRESS redirects, /cut ends in the middle."""

    files: ClassVar[dict[str, bytes]]
    paths: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.paths.append(self.path)
        if self.path.startswith("/to?"):
            self.send_response(302)
            self.send_header("Location", self.path.partition("?")[2])
            self.end_headers()
        elif self.path == "/cut.bin":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"cut")
        elif self.path in self.files:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.files[self.path])
        else:
            self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, dict[str, bytes], list[str]]]:
    """The address of a server, its files, and the paths that it was asked for."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class OwnFiles(Files):
        files: ClassVar[dict[str, bytes]] = {}
        paths: ClassVar[list[str]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), OwnFiles) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", OwnFiles.files, OwnFiles.paths
        server.shutdown()
        thread.join()


Server = tuple[str, dict[str, bytes], list[str]]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_the_files_of_firefox_become_an_artifact(files: Server, tmp_path: Path) -> None:
    """Three addresses, one with a name of its own, two packed."""
    url, served, paths = files
    served["/model.ende.intgemm.alphas.bin.gz"] = gzip.compress((DATA / "student.bin").read_bytes())
    served["/main/4f0f-77"] = (DATA / "vocab.spm").read_bytes()
    model = f"{url}/model.ende.intgemm.alphas.bin.gz#sha256={sha256(served['/model.ende.intgemm.alphas.bin.gz'])}"
    words = f"{url}/main/4f0f-77#sha256={sha256(served['/main/4f0f-77']).upper()}&name=vocab.ende.spm"
    artifact = run_import("firefox", model, words, "--out", tmp_path / "out", "--graphs", "onnx-fp32")
    assert (artifact.manifest.source_language, artifact.manifest.target_language) == ("en", "de")
    assert paths == ["/model.ende.intgemm.alphas.bin.gz", "/main/4f0f-77"]


def test_a_package_is_found_out_behind_a_redirect(files: Server, tmp_path: Path) -> None:
    url, served, _ = files
    write_package(tmp_path / "translate-de_fr", "de", "fr")
    write_zip(tmp_path / "translate-de_fr", tmp_path / "a.argosmodel")
    served["/a.argosmodel"] = (tmp_path / "a.argosmodel").read_bytes()
    digest = sha256(served["/a.argosmodel"])
    address = f"{url}/to?/a.argosmodel#sha256={digest}&name=translate-de_fr.argosmodel"
    assert run(address, tmp_path / "out") == 0
    assert (tmp_path / "out" / "manifest.json").is_file()


def test_another_file_is_not_imported(files: Server, tmp_path: Path) -> None:
    url, served, _ = files
    served["/a.npz"] = b"another"
    with pytest.raises(ImportRefused, match=f"has the SHA-256 {sha256(b'another')}, not {sha256(b'this')}"):
        local_path([f"{url}/a.npz#sha256={sha256(b'this')}"], tmp_path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/missing.bin", "could not be downloaded: HTTP Error 404"),
        ("/cut.bin", "could not be downloaded|has the SHA-256"),
        ("/to?file:///etc/passwd#", "could not be downloaded"),
        ("/to?ftp://127.0.0.1/a#", "could not be downloaded"),
        ("/to?/to?/to?#", "could not be downloaded"),
    ],
)
def test_what_is_no_file_says_so(files: Server, path: str, message: str, tmp_path: Path) -> None:
    url, _, _ = files
    address = Address(url + path.removesuffix("#"), sha256(b"x"), "x")
    with pytest.raises(ImportRefused, match=message):
        download(address, tmp_path)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = Address(f"http://127.0.0.1:{closed.getsockname()[1]}/a", sha256(b""), "a")
        with pytest.raises(ImportRefused, match=r"could not be downloaded: .*refused"):
            download(address, tmp_path)


HEX = "ab" * 32


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("https://a.example/b.npz", "give its SHA-256, 64 hexadecimal digits: https://a.example/b.npz#sha256="),
        ("https://a.example/b.npz#sha256=12", "give its SHA-256"),
        (f"https://a.example/b.npz#sha256={HEX}&md5=1", "not md5"),
        (f"https://a.example/#sha256={HEX}", "has no name of a file: add &name=FILE"),
        (f"https://a.example/b/..#sha256={HEX}", "has no name of a file"),
        (f"https://a.example/b%2F..%2Fc%00#sha256={HEX}", "has no name of a file"),
        (f"https://a.example/b#sha256={HEX}&name=../b", "has no name of a file"),
    ],
)
def test_addresses_that_are_not_asked(address: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=message):
        local_path([address], tmp_path)


def test_addresses_and_paths_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="addresses and paths"):
        local_path([str(tmp_path), f"https://a.example/b#sha256={HEX}"], tmp_path)
    with pytest.raises(ImportRefused, match="one path is imported at a time"):
        local_path([str(tmp_path), str(tmp_path)], tmp_path)


def test_two_files_of_one_name_are_refused(files: Server, tmp_path: Path) -> None:
    url, served, _ = files
    served["/a/model.bin"] = served["/b/model.bin"] = b"x"
    with pytest.raises(ImportRefused, match=r"two addresses have a file model.bin"):
        local_path([f"{url}/{folder}/model.bin#sha256={sha256(b'x')}" for folder in "ab"], tmp_path)
