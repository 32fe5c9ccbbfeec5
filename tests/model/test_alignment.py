"""Where translations come from: the weights of cross-attention, and which of them are looked at."""

import numpy as np
import pytest
import torch

from model.alignment import (
    MIN_LINKS,
    Agreement,
    AlignmentHead,
    Link,
    alignment,
    all_heads,
    best_head,
    copied_links,
    default_head,
    lexicon_links,
)
from model.attention.observe import AttentionCall, record_calls
from model.attention.scaled_dot_product import merge_heads
from model.config import BOS_ID, EOS_ID
from model.data.batching import Pair
from model.data.lexicon import Lexicon
from model.translation_model import TranslationModel
from tests.models import lively_model, tiny_config
from tests.variants import VARIANTS, attention_of, lively_variant, padded_keep, some_inputs


@pytest.mark.parametrize("name", VARIANTS)
def test_the_output_is_the_sum_of_values_by_the_returned_weights(name: str) -> None:
    attention = attention_of(name, "cross")
    inputs = some_inputs(padded_keep([7, 3, 1], 7), queries=5)
    memory = attention.project_memory(inputs.x_key)
    weights = attention.weights(inputs.x_query, memory, inputs.visible())
    assert not weights.masked_select(~inputs.keep).any()
    wanted = attention.output(merge_heads(torch.matmul(weights.to(memory[1].dtype), memory[1])))
    torch.testing.assert_close(attention(inputs.x_query, memory, inputs.visible()), wanted, atol=1e-5, rtol=1e-5)


def of_query(seen: AttentionCall) -> torch.Tensor:
    """Weights of the last query of a call, [heads, source]."""
    return seen.attention.weights(seen.x, seen.memory, seen.visible)[0, :, -1]


def slow_alignment(model: TranslationModel, source: list[int], target: list[int], at: AlignmentHead) -> torch.Tensor:
    """The same piece by piece: of all that the model has read so far the last query only."""
    ids, rows = torch.tensor([source]), []
    keep = torch.ones_like(ids, dtype=torch.bool)
    for number in range(1, len(target) + 1):
        read = torch.tensor([[BOS_ID, *target][: number + at.reads]])
        with record_calls(model) as calls:
            model.decode(read, model.encode(ids, keep), keep)
        [seen] = calls[f"decoder.layers.{at.layer - 1}.cross_attention"]
        weights = of_query(seen)
        row = weights.mean(dim=0) if at.head is None else weights[at.head - 1]
        rows.append(row / row.sum())
    return torch.stack(rows)


@pytest.mark.parametrize("at", [AlignmentHead(2), AlignmentHead(1, 2, reads=True), AlignmentHead(2, 1, reads=True)])
@pytest.mark.parametrize("name", ["plain", "mw", "gauss-query"])
@torch.no_grad()
def test_an_alignment_is_the_cross_attention_of_each_step(name: str, at: AlignmentHead) -> None:
    model = lively_model(tiny_config()) if name == "plain" else lively_variant(name, loudness=1)
    sources, targets = [[5, 6, 7, 8, EOS_ID], [9, 10, EOS_ID]], [[20, 21, 22, 23, 24, 25], [30, 31]]
    ids = torch.tensor([sources[0], [*sources[1], 0, 0]])
    read = torch.tensor([[BOS_ID, *targets[0]], [BOS_ID, *targets[1], 0, 0, 0, 0]])
    result = alignment(model, ids, ids != 0, read, at)
    torch.testing.assert_close(result.sum(dim=2), torch.ones(2, 6))
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        ours = result[row, : len(target)]
        torch.testing.assert_close(ours[:, : len(source)], slow_alignment(model, source, target, at), atol=1e-5, rtol=0)
        assert not ours[:, len(source) :].any()


@torch.no_grad()
def test_the_head_that_agrees_with_most_links_is_chosen() -> None:
    model, planted = lively_model(tiny_config()), AlignmentHead(1, 2, reads=True)
    pairs = [Pair([5 + n, 60 + n, 90 + n, 120 + n], [150 + n, 170 + n, 190 + n, 210 + n, 230 + n]) for n in range(12)]
    links = []
    for pair in pairs:
        ids = torch.tensor([[*pair.source, EOS_ID]])
        weights = alignment(model, ids, ids > 0, torch.tensor([[BOS_ID, *pair.target]]), planted)[0]
        chosen = weights[:, : len(pair.source)].argmax(dim=1).tolist()
        links.append([Link(source, target) for target, source in enumerate(chosen)])
    assert best_head(model, pairs, links) == (planted, Agreement(1.0, 60))
    few = [links[0][:1]] * (MIN_LINKS - 1) + [[]]
    assert best_head(model, [pairs[0]] * MIN_LINKS, few) == (default_head(model), None)
    assert len(set(all_heads(model))) == 2 * 3 * 2


def small_lexicon(chances: dict[int, dict[int, float]]) -> Lexicon:
    words, probability = np.zeros((40, 3), np.int16), np.zeros((40, 3), np.float16)
    for source, row in chances.items():
        for place, (target, chance) in enumerate(row.items()):
            words[source, place], probability[source, place] = target, chance
    return Lexicon(words, probability, np.arange(3, 40, dtype=np.int16))


def test_links_of_a_lexicon_are_sure() -> None:
    lexicon = small_lexicon({4: {14: 0.7}, 5: {15: 0.5, 16: 0.3}, 6: {16: 0.1}, 7: {17: 0.9}})
    assert lexicon_links(Pair([4, 5], [14, 15]), lexicon) == [Link(0, 0), Link(1, 1)]
    assert lexicon_links(Pair([5], [15, 16]), lexicon) == []  # one nearly as good as the other
    assert lexicon_links(Pair([6], [16]), lexicon) == []  # improbable
    assert lexicon_links(Pair([7, 7], [17]), lexicon) == []  # which of the two?
    assert lexicon_links(Pair([7], [17, 17]), lexicon) == []
    assert lexicon_links(Pair([], []), lexicon) == []


def test_copied_pieces_are_linked_where_each_is_there_once() -> None:
    assert copied_links(["a", "7", ".", "b", "b"], ["c", ".", "7", "b"]) == [Link(2, 1), Link(1, 2)]
    assert copied_links(["7"], ["7", "7"]) == []
