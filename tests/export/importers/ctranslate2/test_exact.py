"""CTranslate2's models translate as CTranslate2 does at fp32: the same words, the same scores."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import ctranslate2
import numpy as np
import pytest
import sentencepiece

from export.artifact_writer import write_graph
from export.importers.ctranslate2.folder import open_folder
from export.importers.ctranslate2.load import load_ctranslate2
from export.manifest import graph_files, make_manifest
from export.signature import with_signatures
from model.config import ModelConfig
from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.load import load_backend
from server.engine.request import Hypothesis, SearchOptions
from server.engine.synchronous import Source, translate_now
from tests.export.importers.ctranslate2.make_models import SHAPES, Shape, words_of, write_model
from tests.marian import spm
from tests.models import SENTENCES

LONGEST = 20
WORDS = " ".join(SENTENCES[:8]).split()
TEXTS = [" ".join(WORDS[start : start + length]) for length in (1, 3, 5, 8) for start in range(0, 36, 5)]


@dataclass(frozen=True)
class Both:
    """A model in both engines, and its sources as pieces."""

    shape: Shape
    config: ModelConfig
    backend: Backend
    theirs: Any
    sources: list[list[str]]
    ids: list[Source]

    def ours(self, numbers: list[int], beam: int) -> list[Hypothesis]:
        """Of the sentences with these numbers, all at once."""
        options = SearchOptions(beam_size=beam, max_length=LONGEST)
        return [result.hypotheses[0] for result in translate_now(self.backend, [self.ids[n] for n in numbers], options)]

    def expected(self, beam: int) -> list[tuple[tuple[int, ...], float]]:
        """Ids and scores by CTranslate2, which may end at once, and without UNK, BOS and padding as ours is."""
        target = words_of(self.shape)[1]
        never = [[target[index]] for index in self.config.ids.suppressed if index < len(target)]
        # It counts no EOS of its own: a source that ends with EOS by another's hand has it as a word.
        sources = [[*words, "</s>"] for words in self.sources] if self.shape.from_zero else self.sources
        results = self.theirs.translate_batch(
            sources, beam_size=beam, max_decoding_length=LONGEST, min_decoding_length=0, return_scores=True,
            suppress_sequences=never, length_penalty=1.0,
        )  # fmt: skip
        return [(tuple(map(target.index, result.hypotheses[0])), result.scores[0]) for result in results]


@pytest.fixture(scope="module", params=SHAPES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    shape, folder = SHAPES[request.param], tmp_path_factory.mktemp("ctranslate2")
    write_model(folder / "model", shape)
    opened = open_folder(folder / "model")
    content = load_ctranslate2(opened, "de", folder, None, 256, None)
    graph = dataclasses.replace(graph_files("onnx", "fp32"), score="", align="")
    manifest = make_manifest(content.model, "tiny", ("en", "de"), (graph,), "", "", 1.0, {})
    write_graph(content.model, manifest, graph, {}, folder)
    backend = load_backend(Artifact(folder, with_signatures(manifest, folder)), "onnx", "fp32")
    theirs = ctranslate2.Translator(str(folder / "model"), compute_type="float32", intra_threads=1)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=spm("source"))
    sources = [pieces.encode(text, out_type=str) for text in TEXTS]
    known = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.model"))
    ids = [Source((*content.source_prefix, *content.model.config.source_ids(known.encode(text)))) for text in TEXTS]
    return Both(shape, content.model.config, backend, theirs, sources, ids)


def test_beam_1_is_ctranslate2s_alone_and_in_company(both: Both) -> None:
    expected = both.expected(1)
    together = both.ours(list(range(len(TEXTS))), 1)
    alone = [both.ours([number], 1)[0] for number in range(0, len(TEXTS), 4)]
    for ours, theirs in ((together, expected), (alone, expected[::4])):
        assert [hypothesis.ids for hypothesis in ours] == [ids for ids, _ in theirs]
        scores = [hypothesis.normalized_score for hypothesis in ours]
        np.testing.assert_allclose(scores, [score for _, score in theirs], atol=1e-4)
    assert len({hypothesis.ids for hypothesis in together}) > len(TEXTS) // 4
    assert "eos" in {hypothesis.finish_reason for hypothesis in together}


def test_beam_4_is_ctranslate2s_where_a_translation_ends(both: Both) -> None:
    """Where hypotheses are cut at the greatest length, CTranslate2 ranks them among those that ended; here those that
    ended come first."""
    expected = both.expected(4)
    together = both.ours(list(range(len(TEXTS))), 4)
    alone = [both.ours([number], 4)[0] for number in range(0, len(TEXTS), 4)]
    ended = 0
    for ours, theirs in ((together, expected), (alone, expected[::4])):
        for hypothesis, (ids, score) in zip(ours, theirs, strict=True):
            if len(ids) < LONGEST:
                assert hypothesis.ids == ids
                assert hypothesis.normalized_score == pytest.approx(score, abs=1e-4)
                ended += 1
    assert ended > len(TEXTS) // 3
