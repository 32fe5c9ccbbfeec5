"""The words that a projection scores."""

from dataclasses import dataclass

import numpy as np

from export.onnx_graph.candidates import padded_vocabulary
from export.onnx_graph.linear import Array
from model.config import SpecialIds
from model.masks import HIDDEN
from model.translation_model import TranslationModel


@dataclass(frozen=True)
class Words:
    """The output projection: weight [vocabulary, d], bias [vocabulary], and the special ids."""

    weight: Array
    bias: Array
    ids: SpecialIds

    @classmethod
    def of(cls, model: TranslationModel) -> "Words":
        embedding = model.embedding
        weight = embedding.projection.detach().float().numpy()
        bias = np.zeros(len(weight), np.float32)
        if embedding.output_bias is not None:
            bias = embedding.output_bias.detach().float().numpy()
        return cls(weight, bias, model.config.ids)

    def padded(self) -> tuple[Array, Array]:
        """Weight and bias for whole groups of words; special ids and padding are suppressed."""
        count = len(self.weight)
        weight = np.zeros((padded_vocabulary(count), self.weight.shape[1]), np.float32)
        weight[:count] = self.weight
        bias = np.full(len(weight), HIDDEN, np.float32)
        bias[:count] = self.bias
        bias[list(self.ids.suppressed)] = HIDDEN
        return weight, bias
