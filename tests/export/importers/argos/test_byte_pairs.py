"""Packages with codes of subword-nmt translate as Argos Translate does with them: its own libraries cut and join the
text (sacremoses, subword-nmt), and CTranslate2 translates at fp32."""

import argparse
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

from export.artifact_text import ArtifactText
from export.import_command import import_command
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import Hypothesis, SearchOptions
from server.engine.synchronous import Source, translate_now
from server.text.base.pieces import Pieces
from tests.export.importers.ctranslate2.make_models import SPECIAL, write_codes_package
from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.native.test_alignment import check
from tests.subwords import TEXT, codes, theirs

LONGEST, PENALTY = 20, 0.2
WORDS = " ".join(TEXT).split()
TEXTS = [*TEXT, *(" ".join(WORDS[start : start + length]) for length in (1, 3, 7) for start in range(0, 60, 4))]


@dataclass(frozen=True)
class Both:
    """A package in Argos' libraries and as an artifact."""

    artifact: Artifact
    words: list[str]
    translator: Any

    def encoded(self, text: str) -> list[str]:
        """As argostranslate.tokenizer.BPETokenizer does it."""
        normalized = MosesPunctNormalizer("en").normalize(text)
        words = " ".join(MosesTokenizer("en").tokenize(normalized))
        pieces: list[str] = theirs(codes()).segment_tokens(words.strip("\r\n ").split(" "))
        return pieces

    def decoded(self, pieces: list[str]) -> str:
        return str(MosesDetokenizer("de").detokenize(" ".join(pieces).replace("@@ ", "").split(" ")))

    def expected(self, beam: int) -> list[tuple[list[str], float]]:
        results = self.translator.translate_batch(
            [self.encoded(text) for text in TEXTS], beam_size=beam, max_decoding_length=LONGEST, return_scores=True,
            min_decoding_length=0, length_penalty=PENALTY, suppress_sequences=[[word] for word in SPECIAL[:3]],
        )  # fmt: skip
        return [(result.hypotheses[0], result.scores[0]) for result in results]

    def ours(self, beam: int) -> list[Hypothesis]:
        ids = ArtifactText(self.artifact.folder, self.artifact.manifest).sources(TEXTS)
        backend = load_backend(self.artifact, "onnx", "fp32")
        options = SearchOptions(beam_size=beam, max_length=LONGEST, length_penalty=PENALTY)
        return [result.hypotheses[0] for result in translate_now(backend, [Source(each) for each in ids], options)]


def run(path: Path, out: Path) -> int:
    text = out.with_name("text")
    text.write_text("A house stands by the river.\n", encoding="utf-8")
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    options = ["--out", str(out), "--graphs", "onnx-fp32", "--calibration", str(text)]
    return import_command.run(parser.parse_args(["argos", str(path), *options]))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("argos")
    words = write_codes_package(folder / "package", "en", "de")
    assert run(folder / "package", folder / "out") == 0
    translator = ctranslate2.Translator(str(folder / "package" / "model"), compute_type="float32", intra_threads=1)
    return Both(Artifact.load(folder / "out"), words, translator)


def test_texts_have_the_same_pieces(both: Both) -> None:
    ids = ArtifactText(both.artifact.folder, both.artifact.manifest).sources(TEXTS)
    assert [[both.words[index] for index in each] for each in ids] == [both.encoded(text) for text in TEXTS]
    assert sum(piece.endswith("@@") for text in TEXTS for piece in both.encoded(text)) > 50


@pytest.mark.parametrize("beam", [1, 4])
def test_translations_are_the_same(both: Both, beam: int) -> None:
    """With beam 4 those that are not cut at the greatest length."""
    pieces = Pieces(both.artifact.path("vocabulary.model"))
    ended, shown = 0, set[str]()
    for ours, (expected, score) in zip(both.ours(beam), both.expected(beam), strict=True):
        if beam > 1 and len(expected) == LONGEST:
            continue
        ended += len(expected) < LONGEST
        assert [both.words[index] for index in ours.ids] == expected
        assert ours.normalized_score == pytest.approx(score, abs=1e-4)
        [text] = pieces.decode([ours.ids])
        if not (expected and expected[-1].endswith("@@")):  # of which Argos leaves the sign
            assert text == both.decoded(expected)
            shown.add(text)
    assert ended > len(TEXTS) // 3
    assert len(shown) > len(TEXTS) // 6


@pytest.fixture(scope="module")
def server(both: Both) -> Any:
    with ready(settings_for(both.artifact.folder)) as served:
        yield served


def test_it_is_served(both: Both, server: RunningServer) -> None:
    """By LibreTranslate's API, as a file and as a document."""
    with server.client() as client:
        answer = client.post("/translate", json={"q": "It's the men's house. Yes!", "source": "en", "target": "de"})
        assert answer.status_code == 200
        assert answer.json()["translatedText"]
        file = {"file": ("a.html", b"<p>A <b>house</b> stands by the river.</p><p>It's cold &amp; it will be.</p>")}
        answer = client.post("/v1/files", files=file, data={"source": "en", "target": "de"})
        assert answer.status_code == 200
        assert answer.text.count("<p>") == 2
        assert "<b>" in answer.text
        assert "@@" not in answer.text
        body = {"sentences": ["A house.", "It's cold."], "source": "en", "target": "de", "wait": True}
        made = client.post("/v1/documents", json=body).json()
        assert made["state"] == "done"
        assert all(sentence["translation"] for sentence in made["sentences"])


def test_terms_and_placeholders_stay_and_words_are_aligned(server: RunningServer) -> None:
    text = "It's the men's own house by {river}, isn't it? See https://example.org/a-b."
    [translated] = server.translate(text, glossary={"house": "Haus 7"}, alignment=True).json()["translations"]
    for kept in ("Haus 7", "{river}", "https://example.org/a-b"):
        assert translated["text"].count(kept) == 1
    pairs = check(text, translated)
    assert {("{river}", "{river}"), ("https://example.org/a-b", "https://example.org/a-b")} <= pairs
    [begun] = server.translate(text, target_prefix="Das Haus", alignment=True).json()["translations"]
    assert begun["text"].startswith("Das Haus")
    check(text, begun)


def test_sources_are_aligned_as_they_are_written(both: Both) -> None:
    """Moses' scripts write "don't" as two words and signs as entities; places are of the text."""
    pieces = Pieces(both.artifact.path(both.artifact.manifest.source_vocabulary_file))
    [ids] = pieces.encode(["It's the men's own house, isn't it? \"Don't go!\" & <left> well-known | [a]"])
    spelled, places = pieces.decode_with_offsets(ids)
    assert spelled == " It 's the men 's own house , isn 't it ? \" Don 't go ! \" & < left > well-known | [ a ]"
    assert "".join(spelled[start:end] for start, end in places) == spelled


@pytest.mark.parametrize("text", [*TEXT[:4], "It's cold, isn't it? \"Yes.\""])
def test_a_stream_only_grows(server: RunningServer, text: str) -> None:
    body = {"text": text, "source": "en", "target": "de", "stream": True, "beam_size": 1}
    with server.client() as client, client.stream("POST", "/v1/translate", json=body) as response:
        lines = [line for line in response.iter_lines() if line.startswith("data:")]
    events = [json.loads(line.removeprefix("data:")) for line in lines]
    for number in (0, 1):
        targets = [event["target"] for event in events if event.get("sentence") == number]
        assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(targets))
