"""M2M-100 and NLLB-200 become artifacts that translate as `transformers` does: the same ids of texts, the same tokens,
the same scores, for every pair of languages, with sentences of all pairs in one batch."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from export.import_command import import_command
from server.artifact.artifact import Artifact
from server.backends.alignment import align_batch, align_one
from server.backends.base import Backend
from server.backends.load import load_backend
from server.engine.engine import Engine
from server.engine.meter import EngineMeter
from server.engine.request import Hypothesis, SearchOptions, SentenceRequest
from server.engine.scheduler import RequestQueue
from server.engine.synchronous import Source, log_probabilities, translate_now
from server.telemetry.metrics import Metrics
from server.translation.loaded_model import open_vocabularies
from tests.m2m100 import EOS, PAD, UNK, Shape, tokenizer_of, write_m2m100
from tests.models import SENTENCES
from tests.server.engine.integrity import check_integrity

LONGEST = 14
SHAPES = {
    "m2m100": Shape(eos_bonus=2.5),
    "nllb, other sizes": Shape(nllb=True, d_model=32, heads=4, ffn=48, decoder_layers=1, eos_bonus=2.0),
    "m2m100, unscaled, swish, forced end": Shape(
        scaled=False, activation="swish", forced_eos=True, encoder_layers=1, eos_bonus=2.0
    ),
}
CODES = {"en": "eng_Latn", "de": "deu_Latn", "fr": "fra_Latn"}
"""Of M2M-100 and of NLLB."""
PAIRS = (("en", "de"), ("de", "fr"), ("fr", "en"), ("en", "fr"))
ODD = ("Xylophone 42 \u00fc\u4e2d!", "two   spaces", "waterwater bread", "__de__ deu_Latn </s>")
TEXTS = (*SENTENCES[:6], *SENTENCES[8:10], *ODD[:2])
BATCH = [(text, PAIRS[number % len(PAIRS)]) for number, text in enumerate(TEXTS)]


def run_import(folder: Path, out: Path, *options: str) -> Artifact:
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    assert import_command.run(parser.parse_args(["m2m100", str(folder), "--out", str(out), *options])) == 0
    return Artifact.load(out)


@dataclass(frozen=True)
class Both:
    """A model in both engines."""

    shape: Shape
    folder: Path
    model: Any
    artifact: Artifact
    backend: Backend

    def ids(self, text: str, pair: tuple[str, str]) -> list[int]:
        """What transformers' encoder reads."""
        name = CODES[pair[0]] if self.shape.nllb else pair[0]
        return list(tokenizer_of(self.folder, name)(text)["input_ids"])

    def start(self, pair: tuple[str, str]) -> int:
        """The id with which transformers' translations begin."""
        name = CODES[pair[1]] if self.shape.nllb else pair[1]
        return int(tokenizer_of(self.folder, name)("")["input_ids"][0])

    def source(self, text: str, pair: tuple[str, str]) -> Source:
        return Source((self.start(pair), *self.ids(text, pair)))

    @torch.no_grad()
    def expected(self, text: str, pair: tuple[str, str], beam: int, penalty: float) -> list[tuple[list[int], float]]:
        """Tokens without EOS and normalised scores, best first, under which both define the same search."""
        ids = self.ids(text, pair)
        search = {} if beam == 1 else {"early_stopping": True, "length_penalty": penalty}
        result = self.model.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), num_beams=beam,
            num_return_sequences=beam, max_length=LONGEST + 2, forced_bos_token_id=self.start(pair),
            renormalize_logits=True, suppress_tokens=[PAD, UNK], return_dict_in_generate=True, output_scores=True,
            do_sample=False, **search,
        )  # fmt: skip
        rows = [row[2:].tolist() for row in result.sequences]
        cut = [row[: row.index(EOS)] if EOS in row else row for row in rows]
        if beam > 1:
            return list(zip(cut, result.sequences_scores.tolist(), strict=True))
        steps = self.model.compute_transition_scores(result.sequences, result.scores).sum(dim=1)
        return [(cut[0], float(steps[0]) / (1 + min(len(rows[0]), len(cut[0]) + 1)))]


@pytest.fixture(scope="module", params=SHAPES)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    shape, folder = SHAPES[request.param], tmp_path_factory.mktemp("m2m100")
    model = write_m2m100(folder / "checkpoint", shape)
    artifact = run_import(
        folder / "checkpoint", folder / "out", "--languages", "de,fr,en", "--graphs", "onnx-fp32", "--max-length", "48"
    )
    return Both(shape, folder / "checkpoint", model, artifact, load_backend(artifact, "onnx", "fp32"))


def test_text_has_the_ids_of_transformers_for_every_pair(both: Both) -> None:
    languages = both.artifact.manifest.languages
    assert languages is not None
    assert ({*languages.sources}, {*languages.targets}) == ({*CODES}, {*CODES})
    source, target = open_vocabularies(both.artifact)
    for pair in PAIRS:
        pieces = source.in_language(pair[0], languages.prefix(*pair))
        for text in (*SENTENCES, *ODD[:3]):
            assert pieces.encode([text]) == [both.source(text, pair).ids]
            ids = both.ids(text, pair)[1:-1]
            if UNK not in ids:
                assert target.decode([ids]) == [" ".join(text.split())]
    # Special tokens in text are text, and those of a translation are none.
    [read] = source.in_language("en", languages.prefix("en", "de")).encode([ODD[3]])
    specials = {index for tokens in (*languages.sources.values(), *languages.targets.values()) for index in tokens}
    assert not specials & {*read[2:-1]}
    assert read.count(EOS) == 1
    assert target.decode([[*sorted(specials)]]) == [""]


@pytest.mark.parametrize(("beam", "penalty"), [(1, 1.0), (4, 1.0), (4, 0.6)])
def test_searches_are_those_of_transformers_with_all_pairs_in_one_batch(both: Both, beam: int, penalty: float) -> None:
    options = SearchOptions(beam, beam, penalty, LONGEST)
    together = translate_now(both.backend, [both.source(text, pair) for text, pair in BATCH], options)
    lengths, best = set[int](), set[tuple[int, ...]]()
    for (text, pair), result in zip(BATCH, together, strict=True):
        [alone] = translate_now(both.backend, [both.source(text, pair)], options)
        expected = both.expected(text, pair, beam, penalty)
        assert [each.ids for each in alone.hypotheses] == [each.ids for each in result.hypotheses]
        if beam > 1 and max(len(ids) for ids, _ in expected) == LONGEST and not both.shape.forced_eos:
            continue  # transformers lets beams that are cut push out what has ended
        for ours in (alone.hypotheses, result.hypotheses):
            assert [list(each.ids) for each in ours] == [ids for ids, _ in expected]
            scores = [score for _, score in expected]
            if not (beam == 1 and both.shape.forced_eos):
                assert [each.normalized_score for each in ours] == pytest.approx(scores, abs=1e-4)
        lengths |= {len(each.ids) for each in result.hypotheses}
        best.add(result.hypotheses[0].ids)
    assert len(best) >= 3
    assert len(lengths) > 1 or beam == 1 or both.shape.forced_eos


def test_the_target_language_decides_what_a_translation_begins_with(both: Both) -> None:
    options = SearchOptions(4, 1, 1.0, LONGEST)
    results = translate_now(both.backend, [both.source(SENTENCES[0], pair) for pair in (PAIRS[0], PAIRS[3])], options)
    assert results[0].hypotheses[0].ids != results[1].hypotheses[0].ids


def test_given_translations_are_scored_as_transformers_scores_them(both: Both) -> None:
    pairs = [(both.source(text, pair), both.expected(text, pair, 4, 1.0)[1][0], pair) for text, pair in BATCH[:4]]
    scored = log_probabilities(both.backend, [(source.ids, (*ids, EOS)) for source, ids, _ in pairs])
    for (source, ids, pair), ours in zip(pairs, scored, strict=True):
        given = torch.tensor([[EOS, both.start(pair), *ids]])
        with torch.no_grad():
            logits = both.model(torch.tensor([source.ids[1:]]), decoder_input_ids=given).logits[0, 1:]
        logits[:, [PAD, UNK]] = -torch.inf
        theirs = logits.log_softmax(-1)[range(len(ids) + 1), [*ids, EOS]]
        np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-4)


def test_words_are_aligned_behind_the_language_tokens(both: Both) -> None:
    """As the model's own attention to each sentence alone, whose decoder reads the target's token first."""
    aligner, start = both.backend.aligner, both.artifact.manifest.start_length
    assert aligner is not None
    aligner.prepare()
    pairs = [(both.source(text, pair).ids, tuple(both.ids(text, pair)[1:-1])) for text, pair in BATCH[:3]]
    given = align_batch(aligner, EOS, 48, pairs, start)
    for (source, target), weights in zip(pairs, given, strict=True):
        assert weights.shape == (len(target), len(source))
        assert not weights[:, :start].any()
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
        [alone] = align_batch(aligner, EOS, 48, [(source[1:], (source[0], *target))])
        np.testing.assert_allclose(weights[:, 1:], alone[1:], atol=1e-5)
        read = source[start:]
        [encoded] = both.backend.encode(np.array([read]), np.ones((1, len(read)), np.int32))
        np.testing.assert_allclose(align_one(aligner, EOS, 48, (source, target), encoded, start), weights, atol=1e-5)


def test_partial_results_and_prefixes_do_not_have_the_start(both: Both) -> None:
    options = SearchOptions(1, 1, 1.0, LONGEST)
    source = both.source(*BATCH[0])
    [free] = translate_now(both.backend, [source], options)
    ids = free.hypotheses[0].ids
    partial, forced = stream(both.backend, source, options, ())
    assert forced.ids == ids
    assert partial == [ids[:length] for length in range(1, len(partial) + 1)]
    _, forced = stream(both.backend, source, options, ids[:2])
    assert forced.ids == ids


def stream(
    backend: Backend, source: Source, options: SearchOptions, prefix: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], Hypothesis]:
    """The beginnings that a search reports, and its best hypothesis."""
    queue, partial = RequestQueue(4), list[tuple[int, ...]]()
    request = SentenceRequest(source.ids, options, prefix=prefix, on_partial=partial.append)
    queue.put([request])
    engine = Engine(backend, queue, 4, EngineMeter(Metrics(), "m"))
    while not engine.is_idle:
        engine.step()
        check_integrity(engine)
    return partial, request.future.result().hypotheses[0]
