"""The context graphs against the PyTorch model."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor

from export.document_graphs import ContextAttendGraph, ContextEncodeGraph, ProjectGraph, attend_outputs, document_graphs
from export.graphs import EncodeGraph
from export.paged_attention import page_inputs
from model.config import CONTEXT_ATTENTIONS
from model.data.batching import collate
from model.document import DocumentModel, is_word
from tests.documents import lively_document_model, some_pairs

Graph = Callable[[list[Tensor]], list[Tensor]]
FILES = ("store", "attend", "project")
BATCH = collate(some_pairs((4, 7, 1, 5)))
KEEP = torch.tensor([[0, 1, 1, 1], [1, 0, 1, 1], [0, 0, 0, 0], [0, 0, 1, 0]], dtype=torch.int32)
"""Who sees whom: the third sees nothing, the fourth only the third."""

kinds = pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)


def eager(model: DocumentModel) -> list[Graph]:
    encode, attend, project = ContextEncodeGraph(model), ContextAttendGraph(model), ProjectGraph(model)
    return [lambda x: encode(*x), lambda x: attend(*x[:2], x[2:]), lambda x: project(*x)]


def onnx(model: DocumentModel, folder: Path) -> list[Graph]:
    paths = [folder / f"{name}.onnx" for name in FILES]
    exported = document_graphs(model, None)
    for path in paths:
        path.write_bytes(exported[path.stem].SerializeToString())

    def graph(path: Path) -> Graph:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        inputs = [each.name for each in session.get_inputs()]

        def run(tensors: list[Tensor]) -> list[Tensor]:
            # An input that does not matter to this attention is not in the graph.
            named = dict(zip(all_inputs(model, path.stem), tensors, strict=True))
            feeds = {name: named[name].numpy() for name in inputs}
            return [torch.from_numpy(np.asarray(out)) for out in session.run(None, feeds)]

        return run

    return [graph(path) for path in paths]


def all_inputs(model: DocumentModel, graph: str) -> list[str]:
    return {
        "store": ["memory", "word_keep"],
        "attend": ["memory", "keep", *page_inputs(model.context.attention)],
        "project": ["memory"],
    }[graph]


PLACES = [(0, 2), (2, 3), (3, 3), (3, 4)]
"""The sentences of every page; the third has none, so one that nobody sees stands there."""


def chain(model: DocumentModel, graphs: list[Graph], sentences: int, extra: int = 0) -> list[Tensor]:
    """Store four sentences, the second without words, let the first `sentences` of them look; `extra` adds padding
    to J and W of every page. Returns every tensor on the way."""
    encode, attend, project = graphs
    with torch.no_grad():
        memory = model.base.encode(BATCH.source, BATCH.source_keep)
    word_keep = is_word(BATCH.source).int()
    word_keep[1] = 0
    stored = encode([memory, word_keep])

    def paged(x: Tensor, has_words: bool, garbage: float = 0) -> list[Tensor]:
        """x [rows or 1, J, ...] -> pages of every sentence that looks, [sentences, J of the page, ...]"""
        result = []
        for first, last in PLACES:
            page = x[:, first:last]
            padding = [0, 0] * (page.dim() - 2 - has_words) + [0, extra] * has_words + [0, extra + (first == last)]
            page = torch.nn.functional.pad(page, padding, value=garbage)
            result.append(page.expand(sentences, *page.shape[1:]).contiguous())
        return result

    document = [*paged(KEEP[:sentences], False), *paged(word_keep[None], True)]
    for x in stored:
        document += paged(x[None], x.dim() == 3, garbage=3.0)
    result = attend([memory[:sentences], BATCH.source_keep[:sentences].int(), *document])
    return [*stored, *result, *project([result[0]])]


@kinds
@torch.no_grad()
def test_eager_and_onnx_agree(attention: str, tmp_path: Path) -> None:
    """Batches of one and four; padded sources, sentences and words; a sentence without words, a row without
    context."""
    model = lively_document_model(attention)
    plain, exported = eager(model), onnx(model, tmp_path)
    for sentences, extra in ((4, 0), (4, 3), (1, 0)):
        expected = chain(model, plain, sentences, extra)
        ours = chain(model, exported, sentences, extra)
        assert len(ours) == len(expected)
        for our, other in zip(ours, expected, strict=True):
            torch.testing.assert_close(our, other, atol=1e-5, rtol=0)


@kinds
@torch.no_grad()
def test_the_graphs_are_the_document_model(attention: str) -> None:
    model = lively_document_model(attention)
    names = [*model.context.attention.store_names, *attend_outputs(model)]
    actual = dict(zip(names, chain(model, eager(model), 4, extra=1), strict=False))
    memory = model.base.encode(BATCH.source, BATCH.source_keep)
    words = is_word(BATCH.source)
    words[1] = False
    store = model.context.project_store(memory[None], memory[None], words[None])
    each = store._replace(
        tensors=tuple(t.expand(4, *t.shape[1:]) for t in store.tensors), word_keep=words.expand(4, 4, -1)
    )
    attended = model.attend(memory, memory, each, KEEP > 0)
    expected = model.encode(BATCH.source, BATCH.source_keep, store, KEEP > 0)
    torch.testing.assert_close(attended.state, expected, atol=1e-5, rtol=0)
    real = BATCH.source_keep
    torch.testing.assert_close(actual["new_memory"][real], expected[real], atol=1e-5, rtol=0)
    assert torch.equal(actual["new_memory"][~real], memory[~real])
    assert torch.equal(actual["new_memory"][2], memory[2])
    assert (actual["new_memory"][0] - memory[0]).abs().max() > 1e-2
    assert torch.equal(actual["gate"][2], torch.ones_like(actual["gate"][2]))
    sums = actual["sentence_weights"].sum(dim=-1)
    sees = (real & torch.tensor([True, True, False, True])[:, None])[:, None].expand(sums.shape)
    torch.testing.assert_close(sums, sees.float(), atol=1e-5, rtol=0)
    if attended.word_weights is not None:
        weights = attended.word_weights * real[:, None, :, None, None]
        means = weights.sum(dim=2) / real.sum(dim=1)[:, None, None, None]
        for page, (first, last) in enumerate(PLACES):
            ours = actual[f"word_weights.{page}"][:, :, : last - first, : means.shape[3]]
            torch.testing.assert_close(ours, means[:, :, first:last], atol=1e-5, rtol=0)


@torch.no_grad()
def test_without_context_the_graphs_are_the_sentence_models_encoder() -> None:
    model = lively_document_model()
    memory = model.base.encode(BATCH.source, BATCH.source_keep)
    expected = EncodeGraph(model.base)(BATCH.source, BATCH.source_keep.int())
    for first, other in zip(ProjectGraph(model)(memory), expected, strict=True):
        assert torch.equal(first, other)
