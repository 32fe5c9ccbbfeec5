"""The four attentions over the sentences of a document, and the layer around them."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from model.attention.selective import (
    AttentionOutput,
    ContextAttention,
    VisibleSentences,
    context_attention,
    mean_of_words,
)
from model.config import CONTEXT_ATTENTIONS, ConfigError, ContextConfig
from model.context import ContextLayer, Store
from model.masks import context_distance
from tests.reference import selective as reference

D, HEADS = 16, 2
LENGTHS = (3, 1, 5, 0, 2, 4)
"""Words of each sentence; the fourth has none."""
HIERARCHICAL = ("sparse-soft", "sparse-sparse")

kinds = pytest.mark.parametrize("kind", CONTEXT_ATTENTIONS)


def attention(kind: str, seed: int = 0) -> ContextAttention:
    torch.manual_seed(seed)
    module = context_attention(D, ContextConfig(attention=kind, num_heads=HEADS)).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(2)  # sharp enough for sparsemax to leave some out
    return module


def layer(kind: str, seed: int = 0) -> ContextLayer:
    torch.manual_seed(seed)
    return ContextLayer(D, ContextConfig(attention=kind, num_heads=HEADS)).eval()


def words(lengths: Sequence[int] = LENGTHS, seed: int = 1, width: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Key and value words [1, J, W, D] with noise in the padding, and which are real [1, J, W]."""
    generator = torch.Generator().manual_seed(seed)
    widest = width or max(lengths)
    keep = torch.arange(widest)[None] < torch.tensor(lengths)[:, None]
    shape = (1, len(lengths), widest, D)
    return torch.randn(shape, generator=generator), torch.randn(shape, generator=generator), keep[None]


def queries(count: int = 3, seed: int = 2) -> Tensor:
    return torch.randn(1, count, D, generator=torch.Generator().manual_seed(seed))


def visible(*sentences: int, count: int = len(LENGTHS)) -> Tensor:
    """bool [1, 1, J]"""
    return torch.tensor([[[sentence in sentences for sentence in range(count)]]])


def attend(
    module: ContextAttention, query: Tensor, keep: Tensor, raw: tuple[Tensor, Tensor, Tensor]
) -> AttentionOutput:
    """As the layer calls it: sentences without words are not visible."""
    keep = keep & raw[2].any(dim=-1)[:, None]
    return module(query, module.project_store(*raw), VisibleSentences(keep, raw[2]))  # type: ignore[no-any-return]


def apply(module: ContextLayer, query: Tensor, keep: Tensor, raw: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    return module(query, query, module.project_store(*raw), keep).state  # type: ignore[no-any-return]


def by_loops(module: ContextAttention, kind: str, query: Tensor, seen: list[bool]) -> tuple[Tensor, Tensor]:
    """Output and sentence weights [heads, J] of one query, by tests.reference.selective."""
    key, value, keep = words()

    def sentences(name: str, x: Tensor, head: int) -> reference.Sentences:
        projected = module.get_submodule(name)(x).unflatten(-1, (HEADS, -1))[0, :, :, head].double().numpy()
        return [projected[j][keep[0, j].numpy()] for j in range(len(LENGTHS))]

    def row(name: str, head: int) -> reference.Array:
        projected: Tensor = module.get_submodule(name)(query)
        return np.asarray(projected.view(HEADS, -1)[head].double().numpy())

    outputs, weights = [], []
    for head in range(HEADS):
        if kind in HIERARCHICAL:
            result = reference.hierarchical(
                row("sentence_query", head),
                row("word_query", head),
                sentences("sentence_key", key, head),
                sentences("word_key", key, head),
                sentences("word_value", value, head),
                seen,
                kind == "sparse-sparse",
            )
        else:
            flat = reference.flat_sentence if kind == "flat-sentence" else reference.flat_word
            result = flat(row("query", head), sentences("key", key, head), sentences("value", value, head), seen)
        outputs.append(result[0])
        weights.append(result[1])
    output = module.output(torch.from_numpy(np.concatenate(outputs)).float())
    return output, torch.from_numpy(np.stack(weights)).float()


@kinds
@torch.no_grad()
def test_it_is_the_formula(kind: str) -> None:
    module = attention(kind)
    for seen in ((0, 1, 2, 3, 4, 5), (1, 3, 5), (2,)):
        result = attend(module, queries(), visible(*seen), words())
        for place in range(3):
            output, weights = by_loops(module, kind, queries()[0, place], [j in seen for j in range(len(LENGTHS))])
            torch.testing.assert_close(result.output[0, place], output, atol=1e-5, rtol=0)
            torch.testing.assert_close(result.sentence_weights[0, :, place], weights, atol=1e-5, rtol=0)


@kinds
@torch.no_grad()
def test_weights_sum_to_one_over_visible_words(kind: str) -> None:
    result = attend(attention(kind), queries(), visible(0, 2, 3, 5), words())
    torch.testing.assert_close(result.sentence_weights.sum(dim=-1), torch.ones(1, HEADS, 3))
    assert torch.equal(result.sentence_weights[..., [1, 3, 4]], torch.zeros(1, HEADS, 3, 3))
    if result.word_weights is not None:
        torch.testing.assert_close(result.word_weights.sum(dim=-1), result.sentence_weights)
        assert float(result.word_weights.masked_fill(words()[2][:, None, None], 0).abs().max()) == 0


@kinds
@torch.no_grad()
def test_the_order_of_stored_sentences_does_not_matter(kind: str) -> None:
    order = [4, 2, 0, 5, 1, 3]
    key, value, keep = words()
    seen = visible(0, 2, 5)
    first = apply(layer(kind), queries(), seen, (key, value, keep))
    other = apply(layer(kind), queries(), seen[..., order], (key[:, order], value[:, order], keep[:, order]))
    torch.testing.assert_close(first, other, atol=1e-6, rtol=0)


@kinds
@torch.no_grad()
def test_padding_of_sentences_and_words_is_invisible(kind: str) -> None:
    key, value, keep = words()
    wide_key, wide_value = (torch.nn.functional.pad(x, (0, 0, 0, 3, 0, 2), value=9.0) for x in (key, value))
    wide_keep = torch.nn.functional.pad(keep, (0, 3, 0, 2))
    seen = visible(0, 1, 4)
    first = apply(layer(kind), queries(), seen, (key, value, keep))
    other = apply(
        layer(kind), queries(), torch.nn.functional.pad(seen, (0, 2), value=True), (wide_key, wide_value, wide_keep)
    )
    torch.testing.assert_close(first, other, atol=1e-6, rtol=0)


@kinds
@torch.no_grad()
def test_projecting_first_or_last_is_the_same(kind: str) -> None:
    """The mean of projected words is the projection of the mean, because projections have no bias."""
    module = attention(kind)
    key, value, keep = words()
    names = module.store_names
    for name, stored in zip(names, module.project_store(key, value, keep), strict=True):
        raw = value if name.endswith("value") else key
        linear = getattr(module, name) if kind in HIERARCHICAL else getattr(module, name.split("_")[1])
        projected = linear(raw)
        expected = mean_of_words(projected, keep) if name.startswith("sentence") else projected
        torch.testing.assert_close(stored, expected, atol=1e-5, rtol=0)


@kinds
@torch.no_grad()
def test_without_context_the_state_stays_as_it_is(kind: str) -> None:
    module = layer(kind)
    query = queries()
    assert torch.equal(apply(module, query, visible(), words()), query)
    assert torch.equal(apply(module, query, visible(3), words()), query)  # the sentence without words
    assert not torch.equal(apply(module, query, visible(2), words()), query)


@kinds
@torch.no_grad()
def test_an_open_gate_is_the_sentence_model(kind: str) -> None:
    class Open(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.full_like(x, 1e4)

    module = layer(kind)
    module.gate_state = Open()  # type: ignore[assignment]
    torch.testing.assert_close(apply(module, queries(), visible(0, 1), words()), queries(), atol=1e-6, rtol=0)


@kinds
def test_gradients_are_finite_where_nothing_is_visible(kind: str) -> None:
    module = layer(kind)
    key, value, keep = words()
    keep = torch.zeros_like(keep)
    seen = torch.cat([visible(0, 3), visible()], dim=1)
    result = module(queries(2), queries(2), Store(module.project_store(key, value, keep).tensors, keep), seen)
    result.state.square().sum().backward()
    for parameter in module.parameters():
        assert parameter.grad is None or torch.isfinite(parameter.grad).all()


@settings(deadline=None, max_examples=40)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=4), online=st.booleans())
def test_a_sentence_sees_its_own_document_and_never_itself(lengths: list[int], online: bool) -> None:
    place = [(document, index) for document, length in enumerate(lengths) for index in range(length)]
    documents, indices = (torch.tensor(column) for column in zip(*place, strict=True))
    keep = context_distance(documents, indices, documents, indices, online)
    for query, (document, index) in enumerate(place):
        for key, (other_document, other_index) in enumerate(place):
            expected = document == other_document and (other_index < index if online else other_index != index)
            assert bool(keep[query, key]) == expected


@pytest.mark.parametrize(
    ("kind", "expected"), list(zip(CONTEXT_ATTENTIONS, [3_674_624] * 2 + [4_198_912] * 2, strict=True))
)
def test_the_layer_has_the_papers_number_of_parameters(kind: str, expected: int) -> None:
    module = ContextLayer(512, ContextConfig(attention=kind))
    assert sum(parameter.numel() for parameter in module.parameters()) == expected


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention": "sparse"}, "attention must be one of flat-sentence"),
        ({"side": "both"}, "side must be one of encoder, decoder"),
        ({"dropout": 1.0}, r"dropout must be a number in \[0, 1\), not 1.0"),
        ({"dropout": "0.1"}, r"dropout must be a number in \[0, 1\), not '0.1'"),
        ({"num_heads": 0}, "num_heads must be a whole number from 1 on, not 0"),
        ({"num_heads": "8"}, "num_heads must be a whole number from 1 on, not '8'"),
        ({"ffn_dim": 0}, "ffn_dim must be a whole number from 1 on, or null"),
        ({"atention": "flat-word"}, "did you mean 'attention'"),
    ],
)
def test_a_configuration_that_cannot_be_used_says_why(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ContextConfig.from_dict(changes)


def test_heads_must_divide_the_models_width() -> None:
    with pytest.raises(ConfigError, match="not a multiple of context num_heads 3"):
        ContextLayer(D, ContextConfig(num_heads=3))


def test_a_configuration_survives_its_file() -> None:
    config = ContextConfig(attention="flat-word", side="decoder", ffn_dim=7)
    assert ContextConfig.from_dict(config.to_dict()) == config
