"""A step over a shortlist as PyTorch modules, for exporters that trace the whole step. They compute what
export/onnx_graph/shortlist.py and widening.py compute, whose docstrings say what and why.

A step has one shape, whatever its sentences need, so that a server can record it once. Therefore the words of unsure
slots are scored by a second graph, `widen`, which the server runs over these slots only: a step that could score all
words of every slot would take the time of a step without a shortlist.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from export.graphs import StepGraph, best_candidates
from export.onnx_graph.shortlist import ShortlistPlan, log_confidence, places_of
from export.signature import tensor
from export.torchscript import FlatStep
from model.translation_model import TranslationModel
from server.artifact.signature import CHOSEN, CONFIDENCE, LISTED_WORDS, STATE, UNSURE, Signature
from server.artifact.signature import Tensor as SignatureTensor
from server.backends.state import DEAD_SCORE

FRACTION = 2**24
"""Weights of lists, half precision numbers, are whole multiples of 1 / FRACTION. As whole numbers they have the same
sum in any order, on any device and at any precision of the model."""
COLUMNS, BIAS = "shortlist.weight", "shortlist.bias"


class WordLists(nn.Module):
    """source_ids, source_keep [batch, source] and the model's projection [vocabulary, d] -> the tensors of every
    sentence's shortlist, as a step reads them (see `listed_tensors`)."""

    begin: Tensor
    count: Tensor
    place: Tensor
    weight: Tensor
    offset: Tensor
    everywhere: Tensor
    order: Tensor
    frequent: Tensor
    others: Tensor
    bias: Tensor
    rare: Tensor
    least: Tensor

    def __init__(self, plan: ShortlistPlan, bias: Tensor | None) -> None:
        """`bias` [vocabulary]: of the output projection."""
        super().__init__()
        lists, count, place = plan.lists, len(plan.others), places_of(plan)
        self.num_extra, self.has_bias, self.widens = plan.num_extra, bias is not None, plan.widening is not None
        everywhere = np.zeros((1, count + 1), np.int64)
        for word, chance in lists.everywhere.items():
            everywhere[0, place[word]] = round(chance * FRACTION)
        lengths = np.diff(lists.begin)
        self._keep("begin", lists.begin[:-1])
        self._keep("count", lengths)
        self._keep("place", np.append(place[lists.words], count).astype(np.int32))  # the last place belongs to no word
        weight = (np.append(lists.weight, np.float16(0)).astype(np.float64) * FRACTION).astype(np.int64)
        self._keep("weight", weight.astype(np.min_scalar_type(-int(weight.max()))))
        self._keep("offset", np.arange(max(1, int(lengths.max(initial=0)))))
        self._keep("everywhere", everywhere)
        self._keep("order", np.arange(count, 0, -1))
        self._keep("frequent", plan.frequent[None])
        self._keep("others", plan.others)
        if bias is not None:
            self.register_buffer("bias", bias.detach().clone())
        if plan.widening is not None:
            low, high = plan.widening.min_confidence, plan.widening.min_confidence_rare
            self._keep("rare", plan.widening.rare.astype(np.int32))
            self._keep("least", np.array([log_confidence(low), log_confidence(high)], np.float32))

    def _keep(self, name: str, values: NDArray[np.generic]) -> None:
        self.register_buffer(name, torch.from_numpy(np.array(values)))

    def forward(self, source_ids: Tensor, source_keep: Tensor, projection: Tensor) -> list[Tensor]:
        extra = self.extra_words(source_ids, source_keep)
        words = torch.cat([self.frequent.repeat(source_ids.shape[0], 1), extra], dim=1)
        given = [words, projection[extra].transpose(1, 2)]
        if self.has_bias:
            given.append(self.bias[extra][:, None])
        if self.widens:
            has_rare = (self.rare[source_ids] * source_keep).amax(dim=1, keepdim=True)
            given.append(self.least[has_rare.long()])
        return given

    def extra_words(self, source_ids: Tensor, source_keep: Tensor) -> Tensor:
        """The `others` with the largest summed weight, in ascending order: [batch, extra]. Ties: the lower words."""
        entry = self.begin[source_ids][:, :, None] + self.offset
        is_listed = self.offset < (self.count[source_ids] * source_keep)[:, :, None]
        entry = entry.masked_fill(~is_listed, len(self.place) - 1).flatten(1)
        empty = self.everywhere.repeat(source_ids.shape[0], 1)
        score = empty.scatter_add(1, self.place[entry].long(), self.weight[entry].long())[:, :-1]
        least = score.topk(self.num_extra, dim=1).values[:, -1:]
        # A device may choose any of equal scores: of those that equal the last, the lower words come first.
        rank = (score >= least) * self.order + (score > least) * len(self.others)
        best, _ = rank.topk(self.num_extra, dim=1).indices.sort(dim=1)
        return self.others[best]


class ListedStepGraph(StepGraph):
    """A step over the listed words, and, of a plan with widening, what `widen` needs."""

    frequent_weight: Tensor
    frequent_bias: Tensor

    def __init__(self, model: TranslationModel, plan: ShortlistPlan) -> None:
        super().__init__(model)
        frequent = torch.from_numpy(plan.frequent)
        self.register_buffer("frequent_weight", self.projection.detach()[frequent].clone())
        self.register_buffer("frequent_bias", self.output_bias[frequent].clone())
        self.has_bias, self.widens = has_bias(model), plan.widening is not None

    @property
    def projection(self) -> Tensor:
        return self.states.model.embedding.projection

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        state, written = self.advance(inputs)
        frequent = nn.functional.linear(state, self.frequent_weight, self.frequent_bias)
        extra = state @ inputs[COLUMNS]
        if self.has_bias:
            extra = extra + inputs[BIAS]
        logits = torch.cat([frequent, extra], dim=2)
        log_probability = torch.log_softmax(logits, dim=-1, dtype=torch.float32)
        best, place, parent = best_candidates(log_probability, inputs["score"])
        word = inputs[LISTED_WORDS].gather(1, place)
        given = {**self.chosen([best, word, parent], inputs["is_row"]), **written}
        if not self.widens:
            return given
        is_live = inputs["score"][:, 0] > float(DEAD_SCORE) / 2
        unsure = log_probability[:, 0].amax(dim=1) < inputs[CONFIDENCE][:, 0]
        return {**given, STATE: state, UNSURE: unsure & is_live}

    def widen(self, state: Tensor, score: Tensor, is_row: Tensor) -> list[Tensor]:
        """CHOSEN among all words; state [slot, beam, d], score and is_row [slot, beam] of any slots."""
        chosen = self.chosen(best_candidates(self.score_words(state), score), is_row)
        return [chosen[name] for name in CHOSEN]


class FlatListedStep(FlatStep):
    """ListedStepGraph over lists of tensors, with the methods of a traced step over a shortlist (see
    server/artifact/signature.py)."""

    graph: ListedStepGraph

    def __init__(self, model: TranslationModel, plan: ShortlistPlan, signature: Signature) -> None:
        super().__init__(ListedStepGraph(model, plan), signature)
        self.word_lists = WordLists(plan, model.embedding.output_bias if has_bias(model) else None)

    def lists(self, tensors: list[Tensor]) -> list[Tensor]:
        source_ids, source_keep = tensors
        given: list[Tensor] = self.word_lists(source_ids, source_keep, self.graph.projection)
        return given

    def widen(self, tensors: list[Tensor]) -> list[Tensor]:
        return self.graph.widen(*tensors)


def has_bias(model: TranslationModel) -> bool:
    """Whether the output projection adds a number for each word."""
    bias = model.embedding.output_bias
    return bias is not None and bool(bias.any())


def listed_tensors(model: TranslationModel, plan: ShortlistPlan) -> tuple[SignatureTensor, ...]:
    """What a step reads of its slots' shortlists, and `lists` gives."""
    given = [
        tensor(LISTED_WORDS, "int64", "slot", plan.size),
        tensor(COLUMNS, "float32", "slot", model.config.d_model, plan.num_extra),
    ]
    if has_bias(model):
        given.append(tensor(BIAS, "float32", "slot", 1, plan.num_extra))
    if plan.widening is not None:
        given.append(tensor(CONFIDENCE, "float32", "slot", 1))
    return tuple(given)


def widening_tensors(model: TranslationModel) -> tuple[SignatureTensor, ...]:
    """What a step gives that may score all words."""
    return (tensor(STATE, "float32", "slot", "beam", model.config.d_model), tensor(UNSURE, "bool", "slot"))
