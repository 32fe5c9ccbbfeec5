"""What changes in one process of a server changes in all, at once, and is not lost with a process."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.api_keys import new_key
from tests.server.api.conftest import PATIENCE, until
from tests.server.api.pairs import copy_of
from tests.server.api.serving.processes_of_one import FORM, Together, send, slot_of, together, translate

LONG = "We walk home in the rain, and where is the station?\n" * 60


@pytest.fixture(scope="module")
def one(pairs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Together]:
    folder = tmp_path_factory.mktemp("together")
    copy_of(pairs["en-de"], folder / "models" / "en-de")
    secret, line = new_key("boss", ["admin"])
    with together(folder / "models", folder / "store.db", secret, line, "--max-files", "6") as one:
        yield one


def make(client: httpx.Client, name: str, **limits: float) -> str:
    body = {"name": name, "scopes": ["translate", "documents"], "limits": limits}
    answer = client.post("/v1/keys", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["secret"])


def with_key(secret: str) -> dict[str, str]:
    return {"X-API-Key": secret}


def test_keys_are_known_and_forgotten_everywhere_at_once(one: Together) -> None:
    with one.clients() as (first, second):
        for number in range(3):
            secret = make(first, f"short-lived-{number}")
            assert second.get("/v1/usage", headers=with_key(secret)).status_code == 200
            assert second.delete(f"/v1/keys/short-lived-{number}").status_code == 204
            assert first.get("/v1/usage", headers=with_key(secret)).status_code == 401


def test_a_rate_is_that_of_all_processes_together(one: Together) -> None:
    with one.clients() as (first, second):
        key = with_key(make(first, "slow", rate=0.001))
        assert first.get("/v1/usage", headers=key).status_code == 200
        for client in (second, first, second):
            assert client.get("/v1/usage", headers=key).status_code == 429


def test_concurrency_is_that_of_all_processes_together(one: Together) -> None:
    with one.clients() as (first, second), ThreadPoolExecutor(1) as pool:
        key = with_key(make(first, "single", concurrency=1))
        body = {"text": LONG, **FORM}
        running = pool.submit(first.post, "/v1/translate", json=body, headers=key)
        until(lambda: one.served.metric("running_sentences") > 0, "it is in work")
        refused = second.post("/v1/translate", json={"text": "Yes.", **FORM}, headers=key)
        assert refused.status_code == 429
        assert "1 requests in work" in refused.json()["error"]["message"]
        assert running.result(PATIENCE).status_code == 200
        assert second.post("/v1/translate", json={"text": "Yes.", **FORM}, headers=key).status_code == 200


def test_a_quota_is_never_passed_by_several_processes(one: Together) -> None:
    with one.clients() as (first, second):
        key = with_key(make(first, "counted", chars_per_day=10))
        for client, text, status in (
            (first, "Yes.", 200), (second, "Where?", 200), (first, "Y", 429), (second, "Y", 429),
        ):  # fmt: skip
            answer = client.post("/v1/translate", json={"text": text, **FORM}, headers=key)
            assert answer.status_code == status, answer.text
        for client in (first, second):
            assert client.get("/v1/usage", headers=key).json()["keys"][0]["day"]["characters"] == 10


def state_of(client: httpx.Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["state"])


def test_files_are_found_by_every_process(one: Together) -> None:
    with one.clients() as (first, second):
        for sender, asker in ((first, second), (second, first)):
            file_id = send(sender, b"Where is the station?\n")
            path = f"/v1/files/{file_id}"
            until(lambda: state_of(asker, path) == "done", "the file is translated")  # noqa: B023
            result = asker.get(f"{path}/result")
            assert result.status_code == 200
            assert result.content == sender.get(f"{path}/result").content
            assert asker.get(path, headers={"X-Request-ID": "abc"}).headers["X-Request-ID"] == "abc"
            assert asker.get(path, headers=with_key("wrong")).status_code == 401
            assert asker.get(f"/v1/files/{file_id[:2]}{'0' * 30}").status_code == 404


def test_the_number_of_files_is_that_of_all_processes_together(one: Together) -> None:
    with one.clients() as (first, _):
        secret = make(first, "filing")
    with one.clients(secret) as (first, second):

        def states() -> list[int]:
            return [second.get(f"/v1/files/{file_id}").status_code for file_id in files]

        def send_one(client: httpx.Client) -> None:
            """A file that is translated."""
            files.append(send(client, b"Yes."))
            until(lambda: state_of(client, f"/v1/files/{files[-1]}") == "done", "the file is translated")

        files = list[str]()
        while not files or states()[0] == 200:
            send_one(first)
        limit = len(files) - 1  # less than --max-files, as another key has files as well
        assert states() == [404] + [200] * limit
        send_one(second)
        assert states() == [404] * 2 + [200] * limit
        send_one(first)
        assert states() == [404] * 3 + [200] * limit
        kill(one, 0)
        for _ in range(limit):
            send_one(second)
        assert states()[-limit:] == [200] * limit
    until(one.is_whole, "the process is replaced")


def test_documents_of_deepls_api_are_found_by_every_process(one: Together) -> None:
    with one.clients() as (first, second):
        for sender, asker in ((first, second), (second, first)):
            file, form = {"file": ("a.txt", b"Where is the station?\n")}, {"target_lang": "DE", "source_lang": "EN"}
            made = sender.post("/v2/document", files=file, data=form).json()
            path, key = f"/v2/document/{made['document_id']}", {"document_key": made["document_key"]}
            until(lambda: asker.post(path, json=key).json()["status"] == "done", "the document is translated")  # noqa: B023
            assert asker.post(path, json={"document_key": "0" * 64}).status_code == 404
            assert asker.post(f"{path}/result", json=key).status_code == 200
            assert sender.post(path, json=key).status_code == 404  # it was fetched


def test_links_of_files_are_found_by_every_process(one: Together) -> None:
    with one.clients() as (first, second):
        file = {"file": ("a.txt", b"Where is the station?\n")}
        link = first.post("/translate_file", files=file, data=FORM).json()["translatedFileUrl"]
        assert link.startswith(f"{one.served.url}/download_file/")
        assert second.get(link).content == first.get(link).content != b""


def test_metrics_are_those_of_all(one: Together) -> None:
    """And the counters of a process that is killed stay."""

    def counted() -> float:
        return one.served.metric("requests_total", endpoint="/v1/translate", code="200")

    with one.clients() as (first, second):
        before = counted()
        assert all(translate(client, "Yes.").status_code == 200 for client in (first, second, second))
        assert counted() == before + 3
        seen = first.get("/metrics").text
        assert one.served.metric("slots", model="en-de") == 2 * 2
        assert one.served.metric("ready", model="en-de") == one.served.metric("build_info") == 1
        series = [line.partition(" ")[0] for line in seen.splitlines() if not line.startswith("#")]
        assert len(series) == len(set(series))
    kill(one, 0)
    assert counted() >= before + 3
    until(one.is_whole, "the process is replaced")
    with one.clients() as (first, _):
        assert translate(first, "Yes.").status_code == 200
        assert counted() >= before + 4


def test_models_are_those_of_all_also_in_a_process_that_starts_later(one: Together, pairs: dict[str, Path]) -> None:
    folder = Path(one.served.command[one.served.command.index("--models") + 1])
    copy_of(pairs["de-en"], folder / "de-en")
    german = {"text": "Ja.", "source": "de", "target": "en"}
    with one.clients() as (first, second):
        assert second.post("/v1/translate", json=german).status_code == 422
        assert first.put("/v1/models/de-en").status_code == 201
        assert [model["name"] for model in second.get("/v1/models").json()["models"]] == ["en-de", "de-en"]
        assert second.post("/v1/translate", json=german).status_code == 200
        assert second.put("/v1/models/nothing").status_code == 404
    (folder / "broken").mkdir()
    (folder / "broken" / "manifest.json").write_text("{")  # is loaded by nobody
    kill(one, 1)
    until(one.is_whole, "the process is replaced")
    with one.clients() as (first, second):
        assert all(client.post("/v1/translate", json=german).status_code == 200 for client in (first, second))
        assert second.delete("/v1/models/de-en").status_code == 204
        assert first.post("/v1/translate", json=german).status_code == 422
        assert first.delete("/v1/models/en-de").status_code == second.delete("/v1/models/en-de").status_code == 409
    kill(one, 0)
    until(one.is_whole, "the process is replaced")
    with one.clients() as (first, _):
        assert [model["name"] for model in first.get("/v1/models").json()["models"]] == ["en-de"]


def test_a_model_of_which_one_process_dies_is_served_by_none(one: Together, pairs: dict[str, Path]) -> None:
    folder = Path(one.served.command[one.served.command.index("--models") + 1])
    copy_of(pairs["en-fr"], folder / "en-fr")
    [pid] = [pid for pid in one.workers if has_slot(pid, 1)]
    with one.clients() as (first, _), ThreadPoolExecutor(1) as pool:
        os.kill(pid, signal.SIGSTOP)
        loading = pool.submit(first.put, "/v1/models/en-fr")
        until(lambda: num_connections(pid, 1) > 1, "it is to load the model")
        os.kill(pid, signal.SIGKILL)
        answer = loading.result(PATIENCE)
        assert answer.status_code == 422
        message = "process 1 of the server cannot load it, so no process serves it: it ended meanwhile"
        assert message in answer.json()["error"]["message"]
    until(one.is_whole, "the process is replaced")
    french = {"text": "Yes.", "source": "en", "target": "fr"}
    with one.clients() as both:
        for client in both:
            assert [model["name"] for model in client.get("/v1/models").json()["models"]] == ["en-de"]
            assert client.post("/v1/translate", json=french).status_code == 422
        assert both[1].put("/v1/models/en-fr").status_code == 201
        assert all(client.post("/v1/translate", json=french).status_code == 200 for client in both)
        assert both[0].delete("/v1/models/en-fr").status_code == 204


def num_connections(pid: int, slot: int) -> int:
    """Sockets of the process in this slot: the one that listens, and those of connections to it. Other servers on the
    machine have sockets of the same name in other folders."""
    held = {os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()}
    sockets = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    named = [fields for fields in sockets if fields[-1].endswith(f"/{slot}.sock")]
    [own] = {fields[-1] for fields in named if f"socket:[{fields[6]}]" in held}
    return sum(fields[-1] == own for fields in named)


def test_a_file_is_gone_with_its_process_and_work_no_longer_counts(one: Together) -> None:
    with one.clients() as (first, second), ThreadPoolExecutor(1) as pool:
        key = with_key(make(second, "orphan", concurrency=1))
        file_id = send(first, b"Yes.")
        running = pool.submit(first.post, "/v1/translate", json={"text": LONG, **FORM}, headers=key)
        until(lambda: one.served.metric("running_sentences") > 0, "it is in work")
        body = {"text": "Yes.", **FORM}
        assert second.post("/v1/translate", json=body, headers=key).status_code == 429
        kill(one, slot_of(file_id))
        with pytest.raises(httpx.TransportError):
            running.result(PATIENCE)
        until(lambda: second.post("/v1/translate", json=body, headers=key).status_code == 200, "it is not in work")
        assert second.get(f"/v1/files/{file_id}").status_code == 404
        posted = second.post(f"/v2/document/{file_id}", json={"document_key": "0" * 64})
        assert posted.status_code == 404
    until(one.is_whole, "the process is replaced")


def kill(one: Together, slot: int) -> None:
    """SIGKILL for the worker of a slot."""
    [pid] = [pid for pid in one.workers if has_slot(pid, slot)]
    os.kill(pid, signal.SIGKILL)
    until(lambda: pid not in one.workers, "the process has ended")


def has_slot(pid: int, slot: int) -> bool:
    """Whether a process listens where the worker of a slot does."""
    names = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    listening = {f"socket:[{fields[6]}]" for fields in names if fields[-1].endswith(f"/{slot}.sock")}
    links = (os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if os.path.lexists(link))
    return not listening.isdisjoint(links)
