"""Context graphs on the decoder's side against the PyTorch modules; the step against the model is parity's matter."""

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor

from export.decoder_context import StatesGraph, TranslationAttendGraph, decoder_context_graphs
from export.document_graphs import ContextAttendGraph, projected
from export.manifest import graph_files, make_manifest
from export.paged_attention import example_pages, page_inputs
from model.config import CONTEXT_ATTENTIONS, ConfigError
from model.data.batching import collate
from model.document import is_word
from tests.documents import lively_document_model, some_pairs

BATCH = collate(some_pairs((4, 7, 1)))
FILES = ("states", "look", "step")


def close(found: list[Tensor], expected: list[Tensor]) -> None:
    assert len(found) == len(expected)
    for first, other in zip(found, expected, strict=True):
        torch.testing.assert_close(first, other, atol=1e-5, rtol=0)


@pytest.mark.parametrize("attention", CONTEXT_ATTENTIONS)
@torch.no_grad()
def test_eager_and_onnx_agree(attention: str) -> None:
    """Other numbers of sentences and words than the exporter saw."""
    model = lively_document_model(attention, "decoder")
    manifest = make_manifest(model.base, "x", ("en", "de"), (graph_files("onnx", "fp32"),), "", "", 1.0, {})
    pages = [page[:, :1].contiguous() for page in example_pages(model.context.attention, 3, 32)]
    keep, words = BATCH.source_keep.int(), is_word(BATCH.target_out).int()
    memory = model.base.encode(BATCH.source, BATCH.source_keep)
    sources = projected(model.base, memory)
    states: list[Tensor] = StatesGraph(model)(keep, BATCH.target_in, words, sources)
    attended: list[Tensor] = TranslationAttendGraph(model)(keep, BATCH.target_in, sources, pages)
    decoded = model.base.decoder_output(BATCH.target_in, memory, BATCH.source_keep)
    store = model.context.project_store(decoded.query[None], decoded.state[None], words[None] > 0)
    close(states, [tensor[0] for tensor in store.tensors])

    graphs = decoder_context_graphs(model, manifest, None)
    tensors = dict(zip(page_inputs(model.context.attention), pages, strict=True))
    tensors |= {"source_keep": keep, "target_ids": BATCH.target_in, "word_keep": words}
    tensors |= dict(zip(manifest.source_tensors, sources, strict=True))
    for name, expected in (("store", states), ("attend", attended)):
        session = onnxruntime.InferenceSession(graphs[name].SerializeToString(), providers=["CPUExecutionProvider"])
        feeds = {tensor.name: tensors[tensor.name].numpy() for tensor in session.get_inputs()}
        close([torch.from_numpy(np.asarray(out)) for out in session.run(None, feeds)], expected)


def test_each_side_has_its_own_graphs() -> None:
    with pytest.raises(ConfigError, match=r"export\.decoder_context"):
        ContextAttendGraph(lively_document_model(side="decoder"))
