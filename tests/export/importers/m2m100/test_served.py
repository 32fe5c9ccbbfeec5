"""A model of many languages over HTTP: every request names its pair, all APIs list them."""

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from export.import_command import import_command
from server.text.protect.capitals import with_initial_of
from tests.m2m100 import EOS, PAD, UNK, Shape, tokenizer_of, write_m2m100
from tests.models import SENTENCES
from tests.server.api.conftest import RunningServer, ready, settings_for, until

PAIRS = (("en", "de"), ("de", "fr"), ("fr", "en"), ("en", "fr"))
LONGEST = 8


class Served:
    """A model and the server of its artifact."""

    def __init__(self, server: RunningServer, model: Any, folder: Path) -> None:
        self.server, self._model, self._folder = server, model, folder

    def post(self, path: str, **fields: object) -> httpx.Response:
        with self.server.client() as client:
            return client.post(path, json=fields)

    def get(self, path: str) -> Any:
        with self.server.client() as client:
            return client.get(path).raise_for_status().json()

    @torch.no_grad()
    def expected(self, text: str, source: str, target: str) -> str:
        """By greedy search of transformers."""
        tokenizer = tokenizer_of(self._folder, source)
        result = self._model.generate(
            **tokenizer(text, return_tensors="pt"), num_beams=1, max_length=LONGEST + 2, suppress_tokens=[PAD, UNK],
            forced_bos_token_id=tokenizer.get_lang_id(target), do_sample=False,
        )  # fmt: skip
        row = result[0].tolist()[2:]
        row = [index for index in (row[: row.index(EOS)] if EOS in row else row) if index < len(tokenizer.encoder)]
        return str(tokenizer.sp_model.decode(tokenizer.convert_ids_to_tokens(row)))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    model = write_m2m100(folder / "checkpoint", Shape(eos_bonus=-2.0))
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    arguments = ["m2m100", str(folder / "checkpoint"), "--out", str(folder / "many"), "--languages", "de,fr,en"]
    assert import_command.run(parser.parse_args([*arguments, "--graphs", "onnx-fp32"])) == 0
    with ready(settings_for(folder / "many")) as server:
        yield Served(server, model, folder / "checkpoint")


def test_requests_of_all_pairs_at_once_are_translated_as_by_transformers(served: Served) -> None:
    texts = [(SENTENCES[number], *PAIRS[number % 4]) for number in range(8)]

    def translate(text: str, source: str, target: str) -> str:
        fields = {"text": text, "source": source, "target": target, "beam_size": 1, "max_length": LONGEST}
        answer = served.post("/v1/translate", **fields)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["translations"][0]["text"])

    with ThreadPoolExecutor(8) as pool:
        ours = list(pool.map(lambda arguments: translate(*arguments), texts))
    theirs = [served.expected(*arguments) for arguments in texts]
    assert ours == [with_initial_of(text, other.strip()) for (text, *_), other in zip(texts, theirs, strict=True)]
    assert len({*ours}) > 2
    [named, spelled] = [translate(SENTENCES[0], source, "de") for source in ("en", "eng_Latn")]
    assert named == spelled == ours[0]


def test_every_api_lists_the_languages(served: Served) -> None:
    everything = {"de": ["en", "fr"], "en": ["de", "fr"], "fr": ["de", "en"]}
    languages = served.get("/v1/languages")["languages"]
    formality = {"en": {"formality": ["de"]}}
    assert languages == [
        {"source": source, "targets": targets, **formality.get(source, {})} for source, targets in everything.items()
    ]
    assert {entry["code"]: entry["targets"] for entry in served.get("/languages")} == everything
    assert {entry["language"] for entry in served.get("/v2/languages")} == {"DE", "EN", "FR"}
    assert {entry["language"] for entry in served.get("/v2/languages?type=target")} >= {"DE", "FR"}
    pairs = served.get("/listPairs")["responseData"]
    assert len(pairs) == 6
    models = served.get("/v1/models")
    assert [(each["name"], each["source"], each["target"]) for each in models["models"]] == [("many", "mul", "mul")]
    assert {"many", "en-de", "fr-de", "auto-fr"} <= {each["id"] for each in models["data"]}


def test_a_pair_that_is_not_served_is_refused_with_what_is(served: Served) -> None:
    for source, target, named in (("en", "it", "only 'de', 'fr'"), ("it", "de", "only 'de', 'en', 'fr'")):
        for model in (None, "many"):
            answer = served.post("/v1/translate", text="x", source=source, target=target, model=model)
            assert (answer.status_code, named in answer.text) == (422, True), answer.text
    answer = served.post("/v1/chat/completions", model="many", messages=[{"role": "user", "content": "Hello"}])
    assert "translates between many languages: name two of them, such as en-de" in answer.text
    assert 400 <= answer.status_code < 500


def test_other_ways_in_choose_the_pair_too(served: Served) -> None:
    text, fields = SENTENCES[1], {"source": "de", "target": "fr"}
    expected = served.post("/v1/translate", text=text, **fields).json()["translations"][0]["text"]
    by_name = served.post("/v1/translate", text=text, model="many", **fields).json()["translations"][0]["text"]
    libre = served.post("/translate", q=text, **fields).json()["translatedText"]
    deepl = served.post("/v2/translate", text=[text], source_lang="DE", target_lang="FR").json()
    content = [{"role": "user", "content": text}]
    chat = served.post("/v1/chat/completions", model="de-fr", messages=content).json()
    answers = [deepl["translations"][0]["text"], chat["choices"][0]["message"]["content"]]
    assert [by_name, libre, *answers] == [expected] * 4
    detected = served.post("/translate", q="This is the house of my old friend.", source="auto", target="de").json()
    assert detected["detectedLanguage"]["language"] == "en"


def test_documents_scores_and_alignments_know_their_pair(served: Served) -> None:
    text, fields = f"{SENTENCES[0]} {SENTENCES[1]}", {"source": "fr", "target": "de"}
    plain = served.post("/v1/translate", text=text, alignment=True, **fields).json()["translations"][0]
    assert plain["sentences"]
    document = served.post("/v1/documents", text=text, **fields).json()
    with served.server.client() as client:
        url = f"/v1/documents/{document['id']}"
        until(lambda: client.get(url).json()["state"] == "done", "the document is translated")
        assert client.get(f"{url}/result").text == plain["text"]
        changed = client.put(f"{url}/sentences/0", json={"source": SENTENCES[2]})
        assert changed.status_code == 200, changed.text
        until(lambda: client.get(url).json()["state"] == "done", "the sentence is translated again")
        [alone, other] = (
            served.post("/v1/translate", text=SENTENCES[2], source=source, target=target).json()["translations"][0][
                "text"
            ]
            for source, target in (("fr", "de"), ("en", "de"))
        )
        assert alone != other
        assert client.get(f"{url}/result").text == f"{alone} {plain['sentences'][1]['target']}"
    items = [{"source": SENTENCES[0], "target": "water"}]
    first, second = (
        served.post("/v1/score", items=items, source="en", target=target).json()["items"][0]["targets"][0]["score"]
        for target in ("de", "fr")
    )
    assert first != second
