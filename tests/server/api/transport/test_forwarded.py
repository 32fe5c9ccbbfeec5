"""Links, pages and redirections of a server behind proxies: forged headers, and a real nginx."""

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.api.app import create_app
from server.api.transport.forwarded import Proxies
from server.runtime.setting_fields import SettingsError
from tests.children import child
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until
from tests.server.redis_server import free_port

SETTINGS = Path(__file__).parents[4] / "server/SETTINGS.md"
NAME = "a#b 50%25?c&d\u00e4.txt"
FORM = {"source": "en", "target": "de"}


@pytest.fixture(scope="module")
def published(tiny_artifact: Path) -> Iterator[RunningServer]:
    with ready(settings_for(tiny_artifact, root_path="/mt/")) as server:
        yield server


def uploaded(url: str, **headers: str) -> str:
    """The link to a translated file."""
    files = {"file": (NAME, b"Where is the station?")}
    answer = httpx.post(f"{url}/translate_file", data=FORM, files=files, headers=headers, timeout=PATIENCE)
    return str(answer.json()["translatedFileUrl"])


@pytest.mark.parametrize(
    ("addresses", "host", "is_trusted"),
    [
        ("127.0.0.1,::1", "127.0.0.1", True),
        ("127.0.0.1", "::ffff:127.0.0.1", True),
        ("172.16.0.0/12, fd00::/8", "172.18.0.5", True),
        ("172.16.0.0/12, fd00::/8", "fd00::5", True),
        ("127.0.0.1,::1", "127.0.0.2", False),
        ("127.0.0.1", None, False),
        ("", "127.0.0.1", False),
        ("*", None, True),
    ],
)
def test_proxies_are_believed_by_their_address(addresses: str, host: str | None, is_trusted: bool) -> None:
    assert Proxies("", addresses).are_trusted(host) == is_trusted


@pytest.mark.parametrize("wrong", [{"root_path": "mt"}, {"root_path": "/a b"}, {"forwarded_allow_ips": "proxy"}])
def test_settings_that_cannot_be_are_refused(tiny_artifact: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="root_path, forwarded_allow_ips: "):
        create_app(settings_for(tiny_artifact, **wrong))


def test_links_are_as_the_proxy_says(server: RunningServer) -> None:
    sent = {
        "X-Forwarded-Proto": "https, http",
        "X-Forwarded-Host": "mt.example.org:8443",
        "X-Forwarded-Prefix": "/a/b/",
    }
    assert uploaded(server.url, **sent).startswith("https://mt.example.org:8443/a/b/download_file/")
    forged = {"X-Forwarded-Proto": "javascript", "X-Forwarded-Host": "a b", "X-Forwarded-Prefix": "//evil.example"}
    link = uploaded(server.url, **forged)
    assert link.startswith(f"{server.url}/download_file/")
    assert httpx.get(link, timeout=PATIENCE).status_code == 200


def test_others_than_proxies_are_not_believed(tiny_artifact: Path) -> None:
    with ready(settings_for(tiny_artifact, forwarded_allow_ips="127.0.0.2")) as server:
        sent = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "x", "X-Forwarded-Prefix": "/mt"}
        assert uploaded(server.url, **sent).startswith(f"{server.url}/download_file/")


@pytest.mark.parametrize("prefix", ["", "/mt"])
def test_a_prefix_is_in_all_that_leads_to_the_server(published: RunningServer, prefix: str) -> None:
    """Whether the proxy removes it or not."""
    check_published(f"{published.url}{prefix}", "/mt")
    assert uploaded(f"{published.url}{prefix}").startswith(f"{published.url}/mt/download_file/")
    answer = httpx.get(f"{published.url}{prefix}/v2/nothing", timeout=PATIENCE)
    assert (answer.status_code, set(answer.json())) == (404, {"message"})
    page = {"Origin": "http://page.example"}
    assert "Access-Control-Allow-Origin" in httpx.get(f"{published.url}{prefix}/languages", headers=page).headers


def check_published(url: str, prefix: str) -> None:
    """`url` is a server that clients know under `prefix`."""
    with httpx.Client(timeout=PATIENCE) as http:
        made = http.post(f"{url}/v1/documents", json={"text": "Yes.", **FORM})
        assert made.headers["Location"].startswith(f"{prefix}/v1/documents/")
        later = http.post(
            f"{url}/v1/files", data=FORM, files={"file": ("a.txt", b"Yes.")}, headers={"Prefer": "respond-async"}
        )
        assert later.headers["Location"].startswith(f"{prefix}/v1/files/")
        assert http.get(f"{url}/openapi.json").json()["servers"] == [{"url": prefix}]
        assert http.get(f"{url}/").json()["translate"] == f"{prefix}/v1/translate"
        docs = http.get(f"{url}/docs").text
        assert f"'{prefix}/openapi.json'" in docs
        assert docs.count(f'"{prefix}/docs/') == 2
        page = http.get(f"{url}/", headers={"Accept": "text/html"}).text
        links = re.findall(r'(?:href|src)="([^"]*)"', page)
        own = [link for link in links if not link.startswith(("data:", "http", "#"))]
        assert len(own) >= 3
        for link in own:
            assert link.startswith(f"{prefix}/")
            assert http.get(httpx.URL(url).copy_with(path=link)).status_code == 200


@contextlib.contextmanager
def nginx(folder: Path, upstream: str) -> Iterator[str]:
    """The address of an nginx with the example of SETTINGS.md, with this server in it."""
    [example] = re.findall(r"```nginx\n(.*?)```", SETTINGS.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert example.count("127.0.0.1:8000") == 1
    port = free_port()
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    location = example.replace("127.0.0.1:8000", upstream)
    server = f"server {{ listen 127.0.0.1:{port}; {location} }}"
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid; events {{}} http {{ access_log off; {paths} {server} }}", encoding="utf-8"
    )
    user = " user root;" if os.getuid() == 0 else ""
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-g", f"daemon off;{user}", "-e", str(folder / "error.log")]
    with child(command, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: is_open(f"http://127.0.0.1:{port}/mt/livez"), "nginx answers")
            yield f"http://127.0.0.1:{port}/mt"
        finally:
            process.terminate()
            process.wait(PATIENCE)  # until it has ended its workers


def is_open(address: str) -> bool:
    try:
        return httpx.get(address, timeout=PATIENCE).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.skipif(
    shutil.which("nginx") is None, reason="nginx is not installed (Debian: apt-get install nginx-light)"
)
def test_the_example_of_the_settings_works(server: RunningServer, tmp_path: Path) -> None:
    with nginx(tmp_path, server.url.removeprefix("http://")) as url:
        check_published(url, "/mt")
        link = uploaded(url)
        assert link.startswith(f"{url}/download_file/")
        assert NAME.removesuffix(".txt") in httpx.URL(link).path
        assert httpx.get(link, timeout=PATIENCE).status_code == 200
        assert httpx.head(link, timeout=PATIENCE).headers["Content-Length"] != "0"
