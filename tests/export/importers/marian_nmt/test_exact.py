"""Models in Marian's files translate as the real Marian does: its answers are recorded by make_models.py."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece

from export.artifact_writer import write_graph
from export.importers.marian_nmt.container import CONFIG, read_model
from export.importers.marian_nmt.files import MarianFiles
from export.importers.marian_nmt.load import load_marian_nmt
from export.manifest import graph_files, make_manifest
from export.signature import with_signatures
from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.load import load_backend
from server.engine.engine import Engine
from server.engine.request import Hypothesis, SearchOptions, SentenceRequest
from server.engine.synchronous import log_probabilities
from tests.export.importers.marian_nmt.make_models import DATA, SPLIT, write_firefox
from tests.server.engine.runs import new_engine, run

ANSWERS: dict[str, dict[str, Any]] = json.loads((DATA / "answers.json").read_text(encoding="utf-8"))
FACTOR = 3
"""Words of an answer for every piece of the source with EOS, as the answers were recorded."""


def files_of(name: str) -> MarianFiles:
    names = ("srcvocab.spm", "trgvocab.spm") if name in SPLIT else ("vocab.spm", "vocab.spm")
    source, target = (DATA / vocabulary for vocabulary in names)
    [model] = [path for path in DATA.glob(f"{name}.*") if path.suffix in (".npz", ".bin")]
    return MarianFiles(model, (source, target), None, None, ("en", "de"), {}, True)


@dataclass(frozen=True)
class Recorded:
    """A model's graphs at fp32, and its answers by beam width: ids and normalised scores."""

    name: str
    backend: Backend
    sources: list[tuple[int, ...]]
    answers: dict[int, list[tuple[tuple[int, ...], float]]]

    def search(self, numbers: list[int], beam: int) -> list[Hypothesis]:
        """Of the sentences with these numbers, all at once, with Marian's limit of length."""
        engine: Engine = new_engine(self.backend, slots=8)
        requests = [
            SentenceRequest(source, SearchOptions(beam_size=beam, max_length=FACTOR * len(source)))
            for source in (self.sources[number] for number in numbers)
        ]
        engine.queue.put(requests)
        run(engine)
        return [request.future.result(timeout=0).hypotheses[0] for request in requests]


@pytest.fixture(scope="module", params=ANSWERS)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    name, folder = request.param, tmp_path_factory.mktemp("marian-nmt")
    files = files_of(name)
    content = load_marian_nmt(files, "de", folder, None, 256, None)
    graph = graph_files("onnx", "fp32")
    manifest = make_manifest(content.model, name, ("en", "de"), (graph,), "", "", 1.0, {})
    write_graph(content.model, manifest, graph, {}, folder)
    backend = load_backend(Artifact(folder, with_signatures(manifest, folder)), "onnx", "fp32")
    source, target = (sentencepiece.SentencePieceProcessor(model_file=str(path)) for path in files.vocabularies)
    answers = {
        int(beam): [(tuple(map(target.piece_to_id, row["pieces"])), row["score"]) for row in rows]
        for beam, rows in ANSWERS[name]["beams"].items()
    }
    sources = [(*map(source.piece_to_id, pieces), source.eos_id()) for pieces in ANSWERS[name]["sources"]]
    return Recorded(name, backend, sources, answers)


def test_beam_1_is_marians_alone_and_in_company(recorded: Recorded) -> None:
    expected = recorded.answers[1]
    together = recorded.search(list(range(len(expected))), 1)
    alone = [recorded.search([number], 1)[0] for number in range(0, len(expected), 4)]
    for ours, theirs in ((together, expected), (alone, expected[::4])):
        assert [hypothesis.ids for hypothesis in ours] == [ids for ids, _ in theirs]
        scores = [hypothesis.normalized_score for hypothesis in ours]
        np.testing.assert_allclose(scores, [score for _, score in theirs], atol=1e-4)
    assert {hypothesis.finish_reason for hypothesis in together} == {"eos", "length"}


def test_beam_4_is_close_to_marians(recorded: Recorded) -> None:
    """Marian's beam narrows by every hypothesis that ends; ours stays as wide, so another answer may be found. Random
    weights have many answers that are nearly as good. What both find has one score; ours is seldom the worse."""
    expected = recorded.answers[4]
    hypotheses = recorded.search(list(range(len(expected))), 4)
    pairs = [(ours, score) for ours, (ids, score) in zip(hypotheses, expected, strict=True) if ours.ids == ids]
    assert len(pairs) >= len(expected) // 2
    for ours, score in pairs:
        assert ours.normalized_score == pytest.approx(score, abs=1e-4)
    worse = [
        ours for ours, (_, score) in zip(hypotheses, expected, strict=True) if ours.normalized_score < score - 1e-4
    ]
    assert len(worse) <= len(expected) // 2


def test_answers_with_beam_4_have_marians_scores(recorded: Recorded) -> None:
    """However they were found."""
    for source, (ids, score) in zip(recorded.sources, recorded.answers[4], strict=True):
        if len(ids) < FACTOR * len(source):
            whole = (*ids, recorded.backend.manifest.special_ids.eos)
            [logs] = log_probabilities(recorded.backend, [(source, whole)])
            assert sum(logs) / len(whole) == pytest.approx(score, abs=1e-4)


def test_a_file_as_firefox_has_it_holds_the_numbers_of_marians_own(tmp_path: Path) -> None:
    """Embeddings at int8, the other code of int8, and multipliers of activations, which are no weights."""
    marian, path = read_model(DATA / "student.bin"), tmp_path / "model.ende.intgemm.alphas.bin"
    write_firefox({**marian.weights, CONFIG: np.frombuffer(b"type: transformer\0", np.int8)}, path)
    firefox = read_model(path)
    assert firefox.config == {"type": "transformer"}
    alphas = {key for key in firefox.weights if key.endswith("_QuantMultA")}
    assert firefox.weights.keys() - alphas == marian.weights.keys()
    assert "none_QuantMultA" in alphas
    for key, values in marian.weights.items():
        np.testing.assert_allclose(firefox.weights[key], values, rtol=5e-7, err_msg=key)


def test_what_is_in_the_tree_is_small() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 300_000
