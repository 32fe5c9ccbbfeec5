"""Files that are translated after their request, and files for which a request is too short."""

import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.api.admission.authentication import TIMEOUT_HEADER
from server.api.native.files import PATH
from server.api.requests.errors import ApiError
from server.api.serving import file_jobs
from server.api.serving.file_jobs import within
from server.api.serving.file_progress import FileProgress
from server.files.doubtful import MOST_SHOWN
from tests.api_keys import new_key
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until

TEXT = b"Where is the station?\n\nShe sells bread and milk.\n"
FORM = {"source": "en", "target": "de"}
LATER = {"Prefer": "wait=1, Respond-Async; x=y"}
LONG = b"We walk home in the rain, and where is the station?\n" * 400


def send(server: RunningServer, data: bytes, headers: dict[str, str], path: str = PATH) -> httpx.Response:
    files = {"file": ("a#b%.txt", data)}
    return httpx.post(f"{server.url}{path}", files=files, data=FORM, headers=headers, timeout=PATIENCE)


def polled(server: RunningServer, path: str, **headers: str) -> dict[str, Any]:
    """The status of a file that has ended."""
    seen: list[dict[str, Any]] = []

    def has_ended() -> bool:
        seen.append(httpx.get(f"{server.url}{path}", headers=headers, timeout=PATIENCE).json())
        return seen[-1]["state"] in ("done", "failed")

    until(has_ended, "the file is translated")
    for part in ("progress", "fraction"):
        assert [status[part] for status in seen] == sorted(status[part] for status in seen)
    return seen[-1]


def test_a_file_is_translated_after_its_request(server: RunningServer) -> None:
    now = send(server, TEXT, {})
    later = send(server, TEXT, LATER)
    assert (later.status_code, later.headers["Preference-Applied"]) == (202, "respond-async")
    assert later.json()["state"] == "queued"
    status = polled(server, later.headers["Location"])
    assert (status["state"], status["progress"], status["sentences"], status["fraction"]) == ("done", 2, 2, 1)
    result = httpx.get(f"{server.url}{status['result']}", timeout=PATIENCE)
    assert result.content == now.content
    for name in ("Content-Type", "Content-Disposition", "X-Flags", "X-Check"):
        assert result.headers.get(name) == now.headers.get(name)


def test_the_state_of_a_file_shows_what_looks_wrong(server: RunningServer) -> None:
    """And so do the states and links of other APIs, whose notes have the first of it."""
    later = send(server, LONG, LATER)
    status = polled(server, later.headers["Location"])
    result = httpx.get(f"{server.url}{status['result']}", timeout=PATIENCE)
    counts = ", ".join(f"{flag}={count}" for flag, count in status["flags"].items())
    assert result.headers["X-Flags"] == counts, "a model of random weights says nothing that looks wrong"
    assert len(status["check"]) == MOST_SHOWN
    assert status["check"][: len(json.loads(result.headers["X-Check"]))] == json.loads(result.headers["X-Check"])
    assert all(each["flags"] and each["source"] in LONG.decode() for each in status["check"])
    files = {"file": ("a.txt", LONG)}
    link = httpx.post(f"{server.url}/translate_file", files=files, data=FORM, timeout=PATIENCE).json()
    assert re.fullmatch(r"please check \d+ of the sentences", link["notes"][0])
    assert len(link["notes"]) == 6


def test_a_file_without_sentences_is_whole_when_it_is_done(server: RunningServer) -> None:
    """A PO file whose messages all have a translation."""
    files = {"file": ("a.po", b'msgid "Yes."\nmsgstr "Ja."\n')}
    later = httpx.post(f"{server.url}{PATH}", files=files, data=FORM, headers=LATER, timeout=PATIENCE)
    status = polled(server, later.headers["Location"])
    assert (status["state"], status["sentences"], status["fraction"]) == ("done", 0, 1)


def test_the_link_of_a_file_has_it_when_it_is_translated(server: RunningServer) -> None:
    later = send(server, LONG, LATER, "/translate_file")
    assert later.status_code == 202
    link = later.json()["translatedFileUrl"]
    early = httpx.get(link, timeout=PATIENCE)
    assert early.status_code in (200, 503)
    assert early.status_code == 200 or early.headers["Retry-After"]
    assert polled(server, later.headers["Location"])["state"] == "done"
    assert httpx.get(link, timeout=PATIENCE).text.count("\n") == LONG.count(b"\n")


def test_files_that_are_unknown_or_not_done_or_failed(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert httpx.get(f"{server.url}{PATH}/{'0' * 32}", timeout=PATIENCE).status_code == 404
    assert send(server, b"x" * 50_000, LATER).status_code == 413  # what is wrong with a file is said at once
    monkeypatch.setattr(server.state.file_jobs, "_seconds", 0.01)
    failed = send(server, LONG, LATER)
    status = polled(server, failed.headers["Location"])
    assert (status["state"], status["error"]["type"]) == ("failed", "deadline_exceeded")
    assert httpx.get(f"{server.url}{failed.headers['Location']}/result", timeout=PATIENCE).status_code == 504


def test_a_file_belongs_to_the_key_that_sent_it(tiny_artifact: Path) -> None:
    secrets, lines = zip(*(new_key(name, ["translate"]) for name in ("a", "b")), strict=True)
    with ready(settings_for(tiny_artifact, api_keys="\n".join(lines))) as server:
        mine, other = ({"Authorization": f"Bearer {secret}"} for secret in secrets)
        later = send(server, TEXT, {**LATER, **mine})
        path = later.headers["Location"]
        assert polled(server, path, **mine)["state"] == "done"
        for headers, code in ((mine, 200), (other, 404), ({}, 401)):
            assert httpx.get(f"{server.url}{path}/result", headers=headers, timeout=PATIENCE).status_code == code
        link = send(server, TEXT, mine, "/translate_file").json()["translatedFileUrl"]
        assert httpx.get(link, timeout=PATIENCE).status_code == 200  # without a key, as in LibreTranslate


@pytest.mark.parametrize("path", [PATH, "/translate_file"])
def test_a_file_for_which_the_request_is_too_short_names_the_way(
    server: RunningServer, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_jobs, "SURE_SECONDS", 0.0)
    answer = send(server, LONG, {TIMEOUT_HEADER: "0.6"}, path)
    assert answer.status_code in ((413, 504) if path == PATH else (400, 504))
    assert "Prefer: respond-async" in answer.text
    assert polled(server, send(server, LONG, LATER, path).headers["Location"])["state"] == "done"


def test_a_file_is_refused_as_soon_as_its_speed_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    progress = FileProgress()
    on_progress = within(160.0, progress)
    on_progress(0, 12_000)
    now[0] = 101.0
    on_progress(128, 12_000)  # too early to be sure
    now[0] = 103.0
    with pytest.raises(ApiError, match="takes about 141 seconds") as caught:
        on_progress(256, 12_000)
    assert (caught.value.kind, progress.done) == ("too_large", 256)
    on_progress(2000, 12_000)  # faster than it seemed
