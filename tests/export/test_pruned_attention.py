"""Attention that reads only used sentences against attention that reads all."""

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from export.document_graphs import ContextAttendGraph, ProjectGraph, PrunedAttendGraph, document_graphs
from export.paged_attention import page_inputs
from export.pruned_attention import sparsemax_of_many
from model.attention.sparsemax import sparsemax
from model.document import DocumentModel
from server.artifact.manifest import PAGES
from tests.documents import lively_document_model


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    keys=st.sampled_from([1, 2, 9, 60, 400]),
    scale=st.sampled_from([0.0, 1e-3, 0.1, 1.0, 30.0]),
    share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_sparsemax_of_many_is_sparsemax(seed: int, keys: int, scale: float, share: float) -> None:
    """Ties, flat and steep energies, rows of which nothing is kept."""
    generator = torch.Generator().manual_seed(seed)
    energy = torch.randn(3, 5, keys, generator=generator) * scale
    keep = torch.rand(3, 1, keys, generator=generator) < share
    keep[1] = False
    ours = sparsemax_of_many(energy, keep)
    torch.testing.assert_close(ours, sparsemax(energy, keep), atol=1e-5, rtol=0)
    assert not ours[1].any()


def document(model: DocumentModel, rows: int, sentences: int) -> list[torch.Tensor]:
    """Pages of random states, in the order of `page_inputs`: some sentences nobody sees, some without words, one page
    with none that anybody sees; the last row sees nothing."""
    generator = torch.Generator().manual_seed(1)
    sizes = [(rows, max(1, sentences // 2**page), 3 + 2 * page) for page in range(PAGES)]
    visible = [torch.randint(0, 5, size[:2], generator=generator).int() for size in sizes]  # 0 is out of sight
    words = [(torch.rand(size, generator=generator) < 0.7).int() for size in sizes]
    visible[2][:] = 0
    for page in visible:
        page[-1] = 0
    results = [*visible, *words]
    for name in model.context.attention.store_names:
        width = model.base.config.d_model
        for size in sizes:
            results.append(torch.randn(*(size if name.startswith("word") else size[:2]), width, generator=generator))
    return results


@pytest.mark.parametrize(
    ("attention", "decay"), [("sparse-soft", None), ("sparse-sparse", None), ("sparse-soft", "learned")]
)
@torch.no_grad()
def test_the_pruned_graph_is_attend_and_project(attention: str, decay: str | None) -> None:
    model = lively_document_model(attention, decay=decay)
    pruned = document_graphs(model, None)["pruned"].SerializeToString()
    session = onnxruntime.InferenceSession(pruned, providers=["CPUExecutionProvider"])
    names = ["memory", "keep", *page_inputs(model.context.attention)]
    for rows, sentences in ((3, 40), (2, 1)):
        memory = torch.randn(rows, 6, model.base.config.d_model)
        keep = (torch.arange(6) < torch.tensor([[6], [4], [2]])[:rows]).int()
        pages = document(model, rows, sentences)
        state, weights, gate, *_ = ContextAttendGraph(model)(memory, keep, pages)
        length = keep.sum(dim=1)
        attended = weights.sum(dim=2) / length[:, None, None]
        gates = torch.stack([gate[row, :count].mean() for row, count in enumerate(length.tolist())])
        expected = [*ProjectGraph(model)(state), attended, gates]
        feeds = dict(zip(names, (x.numpy() for x in (memory, keep, *pages)), strict=True))
        actual = session.run(None, {each.name: feeds[each.name] for each in session.get_inputs()})
        for ours in (
            PrunedAttendGraph(model)(memory, keep, pages),
            list(map(torch.from_numpy, map(np.asarray, actual))),
        ):
            for our, other in zip(ours, expected, strict=True):
                torch.testing.assert_close(our, other, atol=1e-5, rtol=0)
        assert not attended[-1].any()
        assert sentences == 1 or (attended[0] == 0).any()  # there was something to leave out


def test_kinds_without_zeros_have_no_pruned_graph() -> None:
    with pytest.raises(AssertionError):
        PrunedAttendGraph(lively_document_model("flat-word"))
