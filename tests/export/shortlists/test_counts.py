"""What is counted from the model's own translations, against the slow model and plain loops."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
import torch

from export.shortlists.counts import COPY, MIN_ATTENTION, Counts
from export.shortlists.learn import learn
from export.shortlists.recording import BEAM, Translation, translations
from model.reference_search import log_probabilities, reference_search
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.load import load_backend
from tests.models import SENTENCES

SOURCES = [(5, 6, 7, 3), (300, 20, 3), (90, 14, 250, 9, 33, 3), (3,), (5, 6, 7, 3)]


@pytest.fixture(scope="module")
def backend(tiny_artifact: Path) -> Backend:
    return load_backend(Artifact.load(tiny_artifact), "onnx", "fp32", "off")


@pytest.fixture(scope="module")
def translated(backend: Backend) -> list[Translation]:
    return translations(backend, SOURCES)


def test_candidates_are_the_best_words_of_every_step(
    translated: list[Translation], tiny_model: TranslationModel
) -> None:
    for source, result in zip(SOURCES, translated, strict=True):
        limit = min(64, 20 + 3 * len(source))
        (expected,) = reference_search(tiny_model, list(source), 1, max_length=limit)
        assert (result.source, result.target) == (source, expected.ids)
        target = torch.tensor([[2, *expected.ids[:-1]]]) if expected.ids else torch.zeros(1, 0, dtype=torch.long)
        if not expected.ids:
            continue
        ids, keep = torch.tensor([source]), torch.ones(1, len(source), dtype=torch.bool)
        with torch.no_grad():
            hidden = tiny_model.decode(target, tiny_model.encode(ids, keep), keep)
            best = log_probabilities(tiny_model.embedding.logits(hidden[0]), None, tiny_model.config.ids)
        values, words = best.topk(2 * BEAM)
        np.testing.assert_allclose(result.log_probabilities, values.numpy(), atol=1e-3)
        clear = np.abs(np.diff(values.numpy(), append=-99.0)) > 1e-3
        clear &= np.abs(np.diff(values.numpy(), prepend=99.0)) > 1e-3
        np.testing.assert_array_equal(result.tokens[clear], words.numpy()[clear])


def test_counts_are_those_of_plain_loops(translated: list[Translation]) -> None:
    generator = np.random.default_rng(0)
    weights = [generator.dirichlet(np.full(len(each.source), 0.3), len(each.target)).astype(np.float32)
               for each in translated]  # fmt: skip
    counts = Counts.empty(320, 320)
    counts.add(translated[:2], weights[:2])
    counts.add(translated[2:], weights[2:])
    shares: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    seen, written = Counter[int](), Counter[int]()
    for each, attention in zip(translated, weights, strict=True):
        seen.update({*each.source})
        written.update(each.target)
        for step, row in enumerate(attention):
            for piece, weight in zip(each.source, row, strict=True):
                for word in each.tokens[step] if weight >= MIN_ATTENTION else ():
                    shares[piece][int(word)] += float(weight)
    copies = {5: 9, 14: 14, 100: 101}
    lists = counts.lists(copies, 5)
    for word, copy in copies.items():
        shares[word][copy] += COPY
    for word in range(320):
        row = {target: share / (seen[word] + COPY) for target, share in shares[word].items()}
        best = sorted(row, key=lambda target: (-row[target], target))[:5]
        assert lists.row(word) == pytest.approx({target: row[target] for target in best}, rel=1e-2)
    order = counts.by_frequency(3, [0, 1, 2]).tolist()
    assert (order[0], {*order}) == (3, {*range(3, 320)})
    assert [written[word] for word in order[1:]] == sorted((written[word] for word in order[1:]), reverse=True)


def test_pieces_that_the_text_lacks_are_translated_where_asked_for(tiny_artifact: Path, backend: Backend) -> None:
    artifact = Artifact.load(tiny_artifact)
    without, with_them = (learn(artifact, backend, SENTENCES[:2], unseen=unseen) for unseen in (False, True))
    np.testing.assert_array_equal(without.in_text, with_them.in_text)
    has = without.in_text > 0
    assert not without.seen[~has].any()
    assert (without.seen[has] > without.in_text[has]).any()
    assert (with_them.seen > 0).sum() > 2 * has.sum()
