"""Files of two keys at a real server whose engine is stopped until the test lets it continue."""

import contextlib
import dataclasses
import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deepl
import deepl.http_client
import httpx
import pytest
from deepl import DeepLClient, DocumentHandle

from server.api.serving.file_jobs import MAX_RUNNING
from server.engine.lane import Lane
from tests.api_keys import new_key
from tests.server.api.conftest import PATIENCE, RunningServer, ready, settings_for, until

TEXT = "Where is the station? She sells bread and milk."
FORM = {"source": "en", "target": "de"}


@dataclass(frozen=True)
class Shared:
    """A server that several keys share. `hold` lets its engine stand still; `go_on` ends that."""

    server: RunningServer
    secrets: dict[str, str]
    may_step: threading.Event

    def hold(self) -> None:
        self.may_step.clear()

    def go_on(self) -> None:
        self.may_step.set()

    def http(self, name: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.secrets[name]}"}
        return httpx.Client(base_url=self.server.url, timeout=PATIENCE, headers=headers)

    def deepl(self, name: str) -> DeepLClient:
        return DeepLClient(self.secrets[name], server_url=self.server.url, send_platform_info=False)

    def in_work(self, name: str) -> int:
        [key] = [entry for entry in self.server.state.keys.keys if entry.name == name]
        return key.in_work

    def nothing_is_left(self) -> None:
        until(lambda: self.server.sentences == 0, "every slot is free")
        until(lambda: sum(self.in_work(name) for name in self.secrets) == 0, "no key has work")
        assert self.server.metric("files_running", model="") == 0
        assert self.server.metric("requests_in_progress", model="tiny") == 0


@contextlib.contextmanager
def shared(artifact: Path, **changes: Any) -> Iterator[Shared]:
    made = {name: new_key(name, ("translate",)) for name in ("crowd", "other", "third", "single")}
    lines = [f"{line}{' concurrency=1' if name == 'single' else ''}" for name, (_, line) in made.items()]
    may_step, step = threading.Event(), Lane.step

    def held_step(lane: Lane) -> None:
        may_step.wait(PATIENCE)
        step(lane)

    may_step.set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lane, "step", held_step)
        patch.setattr(deepl.http_client, "max_network_retries", 0)
        with ready(settings_for(artifact, api_keys=";".join(lines), **changes)) as server:
            try:
                yield Shared(server, {name: secret for name, (secret, _) in made.items()}, may_step)
            finally:
                may_step.set()


def send(client: DeepLClient, text: str = TEXT) -> DocumentHandle:
    return client.translate_document_upload(text.encode(), filename="a.txt", source_lang="EN", target_lang="DE")


def done(client: DeepLClient, handle: DocumentHandle) -> None:
    until(lambda: client.translate_document_get_status(handle).done, "the file is translated")


def fetched(client: DeepLClient, handle: DocumentHandle) -> str:
    done(client, handle)
    out = io.BytesIO()
    client.translate_document_download(handle, out)
    return out.getvalue().decode()


def test_a_hundred_files_of_one_key_delay_no_other_key(tiny_artifact: Path) -> None:
    with shared(tiny_artifact) as both:
        crowd, other = both.deepl("crowd"), both.deepl("other")
        with both.http("other") as http:
            translated = http.post("/v1/translate", json={"text": TEXT, **FORM}).json()["translations"][0]["text"]
            both.hold()
            many = [send(crowd, f"{TEXT} {number}.") for number in range(100)]
            assert both.in_work("crowd") == 100
            states = [crowd.translate_document_get_status(item).status.value for item in many]
            assert set(states) == {"translating", "queued"}
            assert states.count("translating") <= MAX_RUNNING, "a key leaves turns to others"
            late = send(other)
            until(lambda: other.translate_document_get_status(late).status.value == "translating", "it is its turn")
            both.go_on()
            until(lambda: other.translate_document_get_status(late).status.value == "done", "it is translated")
            states = [crowd.translate_document_get_status(item).status.value for item in reversed(many)]
            assert fetched(other, late) == translated
            assert "queued" in states, "it did not wait for the others"
            assert http.post("/v1/translate", json={"text": TEXT, **FORM}).status_code == 200
            answer = http.post("/v1/files", data=FORM, files={"file": ("a.txt", TEXT.encode())})
            assert (answer.status_code, answer.text) == (200, translated)
        for handle in many:
            assert fetched(crowd, handle)
        both.nothing_is_left()
        assert both.server.metric("files_bytes", model="") == 0


def test_a_text_is_taken_however_many_files_wait(tiny_artifact: Path) -> None:
    """The waiting room has place for a few sentences of texts; files wait with many more."""
    plain = settings_for(tiny_artifact).engine
    with shared(tiny_artifact, engine=dataclasses.replace(plain, max_waiting=4, max_waiting_tokens=60)) as both:
        both.hold()
        crowd = both.deepl("crowd")
        many = [send(crowd, f"{TEXT} {number}.\n" * 30) for number in range(8)]
        until(lambda: both.server.sentences > 50, "sentences of files wait")
        with both.http("crowd") as own, both.http("other") as other:
            answers: list[httpx.Response] = []

            def ask(client: httpx.Client) -> None:
                answers.append(client.post("/v1/translate", json={"text": TEXT, **FORM}))

            threads = [threading.Thread(target=ask, args=(client,)) for client in (own, other)]
            for thread in threads:
                thread.start()
            both.go_on()
            for thread in threads:
                thread.join(PATIENCE)
        assert [answer.status_code for answer in answers] == [200, 200]
        assert len(answers[0].json()["translations"][0]["sentences"]) == 2
        for handle in many:
            assert fetched(crowd, handle)
        both.nothing_is_left()


def test_every_key_may_have_its_share_of_files(tiny_artifact: Path) -> None:
    """Through all three APIs; refused requests say when to try again."""
    with shared(tiny_artifact, max_files=4) as both:
        both.hold()
        crowd, other = both.deepl("crowd"), both.deepl("other")
        many = [send(crowd) for _ in range(4)]
        with pytest.raises(deepl.TooManyRequestsException):
            send(crowd)
        with both.http("crowd") as http:
            file = {"file": ("a.txt", TEXT.encode())}
            for path in ("/v1/files", "/translate_file"):
                refused = http.post(path, data=FORM, files=file)
                assert refused.status_code == 429, refused.text
                assert int(refused.headers["Retry-After"]) > 0
            refused = http.post("/v2/document", data={"target_lang": "DE", "source_lang": "EN"}, files=file)
            assert (refused.status_code, int(refused.headers["Retry-After"]) > 0) == (429, True)
            own = [send(other), send(other)]
            both.go_on()
            for handle in many[:2]:
                assert fetched(crowd, handle)
            assert http.post("/v1/files", data=FORM, files=file).status_code == 200
        for handle in own:
            assert fetched(other, handle)
        both.nothing_is_left()


def test_finished_files_are_removed_for_newer_files_of_their_key_only(tiny_artifact: Path) -> None:
    with shared(tiny_artifact, max_files=4) as both:
        crowd, other = both.deepl("crowd"), both.deepl("other")
        theirs = send(other)
        done(other, theirs)
        mine = []
        for _ in range(9):
            mine.append(send(crowd))
            done(crowd, mine[-1])
        for gone in mine[:6]:
            with pytest.raises(deepl.DeepLException, match="Not found"):
                crowd.translate_document_get_status(gone)
        for kept in mine[6:]:
            assert fetched(crowd, kept)
        assert fetched(other, theirs)
        with both.http("third") as http:
            url = http.post("/translate_file", data=FORM, files={"file": ("a.txt", TEXT.encode())}).json()
            path = url["translatedFileUrl"].removeprefix(both.server.url)
            for _ in range(9):
                done(crowd, send(crowd))
            assert http.get(path).status_code == 200
        both.nothing_is_left()


def test_a_file_counts_for_the_concurrency_of_its_key_until_it_is_done(tiny_artifact: Path) -> None:
    """Its client may ask how far it is, and fetch it, all the same."""
    with shared(tiny_artifact) as both:
        single = both.deepl("single")
        both.hold()
        handle = send(single)
        with pytest.raises(deepl.TooManyRequestsException):
            send(single)
        with pytest.raises(deepl.TooManyRequestsException):
            single.translate_text(TEXT, target_lang="DE")
        assert single.translate_document_get_status(handle).ok
        assert both.in_work("single") == 1
        both.go_on()
        assert fetched(single, handle)
        until(lambda: both.in_work("single") == 0, "the key has no work")
        assert fetched(single, send(single))


def test_a_file_has_a_deadline(tiny_artifact: Path) -> None:
    with shared(tiny_artifact, file_timeout=0.3) as both:
        both.hold()
        single = both.deepl("single")
        handle = send(single)
        until(lambda: not single.translate_document_get_status(handle).ok, "the file is given up")
        message = single.translate_document_get_status(handle).error_message
        assert str(message) == "the file was not translated within the server's file_timeout (0.3 s)"
        with pytest.raises(deepl.DeepLException, match="Bad request"):
            single.translate_document_download(handle, io.BytesIO())
        both.go_on()
        both.nothing_is_left()


def test_a_file_that_is_not_fetched_expires(tiny_artifact: Path) -> None:
    with shared(tiny_artifact, file_ttl=0.2) as both, both.http("other") as http:
        url = http.post("/translate_file", data=FORM, files={"file": ("a.txt", TEXT.encode())}).json()
        handle = send(both.deepl("other"))
        assert handle.document_id
        until(lambda: both.server.metric("files", model="") == 0, "all files are gone")
        assert http.get(url["translatedFileUrl"].removeprefix(both.server.url)).status_code == 404
        assert both.server.metric("files_bytes", model="") == 0


def test_a_client_that_hangs_up_gives_back_what_its_file_held(tiny_artifact: Path) -> None:
    with shared(tiny_artifact) as both:
        both.hold()
        for path in ("/v1/files", "/translate_file"):
            with both.http("other") as http, pytest.raises(httpx.ReadTimeout):
                http.post(
                    path, data=FORM, files={"file": ("a.txt", TEXT.encode())}, timeout=httpx.Timeout(PATIENCE, read=0.5)
                )
        until(lambda: both.server.metric("files", model="") == 0, "no file is held")
        both.go_on()
        both.nothing_is_left()
        assert both.server.metric("files_bytes", model="") == 0


def test_a_key_sees_its_usage_only(tiny_artifact: Path) -> None:
    with shared(tiny_artifact) as both:
        crowd, other = both.deepl("crowd"), both.deepl("other")
        crowd.translate_text("Yes.", target_lang="DE", source_lang="EN")
        fetched(crowd, send(crowd))
        assert crowd.get_usage().character.count == 4 + len(TEXT)
        assert other.get_usage().character.count == 0
        other.translate_text("No.", target_lang="DE", source_lang="EN")
        assert (crowd.get_usage().character.count, other.get_usage().character.count) == (4 + len(TEXT), 3)
