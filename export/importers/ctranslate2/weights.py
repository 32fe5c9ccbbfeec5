"""The weights of a CTranslate2 model under the names of RingMT's model."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from export.importers import ImportRefused
from export.importers.ctranslate2.container import Array, Variables
from export.importers.ctranslate2.conventions import FLAGS, POSITIONS, SIDES, position_table, starts_from_zero
from export.importers.ctranslate2.names import OF_SIDES
from export.importers.ctranslate2.vocabulary import NONE, Words
from model.config import ModelConfig
from model.masks import HIDDEN
from model.translation_model import TranslationModel

OF_MODEL = ("unk_token", "bos_token", "eos_token", "with_source_bos", "with_source_eos", "with_target_bos")
WITHOUT_EFFECT = ("scale_alibi", "alibi_use_positive_positions")
"""Variables that mean nothing in a model without ALiBi."""
OPTIONS = {
    *OF_MODEL,
    "user_decoder_start_tokens",
    "decoder/start_from_zero_embedding",
    *(f"{side}/{name}" for side in SIDES for name in (*OF_SIDES, *FLAGS, *WITHOUT_EFFECT, "scale_embeddings")),
}
"""Variables that are no weights: see conventions.py and folder.py."""
Named = Iterator[tuple[str, Array]]
"""Weights by our names."""


class Source:
    """The variables of a model, and the names of those that were read."""

    def __init__(self, variables: Variables) -> None:
        self.variables, self.read = variables, set[str]()

    def __contains__(self, name: str) -> bool:
        return name in self.variables

    def weight(self, name: str) -> Array:
        """Raises ImportRefused for a variable that is missing."""
        if name not in self.variables:
            raise ImportRefused(f"{self.variables.path} has no {name}, which a Transformer for translation has")
        self.read.add(name)
        return self.variables.weight(name)


def model_of(variables: Variables, words: Words, config: ModelConfig) -> TranslationModel:
    """The model in evaluation mode. Raises ImportRefused for weights that are missing, of another shape, or left
    over."""
    source, model = Source(variables), TranslationModel(config).eval()
    state = model.state_dict()
    named = dict(weights_of(source, words, config))
    for ours, values in named.items():
        if ours not in state or values.shape != tuple(state[ours].shape):
            expected = list(state[ours].shape) if ours in state else "no such weight"
            raise ImportRefused(
                f"{variables.path}: {ours} is {list(values.shape)} where a model of this shape has {expected}: the "
                "files of this folder do not belong together"
            )
    left = variables.names - source.read - OPTIONS - {name for name in variables.names if name.endswith("num_heads_kv")}
    if left:
        raise ImportRefused(f"{variables.path} has {sorted(left)[0]}, which RingMT's models have no place for")
    model.load_state_dict({ours: torch.from_numpy(np.array(values, np.float32)) for ours, values in named.items()})
    return model


def weights_of(source: Source, words: Words, config: ModelConfig) -> Named:
    yield from embedding_weights(source, words, config)
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.norm == "before":
            yield from norm(source, f"{side}.norm", f"{side}/layer_norm")
        for index in range(count):
            yield from layer(source, side, index, config)


def embedding_weights(source: Source, words: Words, config: ModelConfig) -> Named:
    """A model that starts from zero has a row of zeros behind its words, which it never chooses."""
    has_start = starts_from_zero(source.variables)
    target, output = (source.weight(f"decoder/{name}/weight") for name in ("embeddings", "projection"))
    yield "embedding.weight", with_zeros(target, has_start)
    if not config.tied_output:
        yield "embedding.output_weight", with_zeros(output, has_start)
    if config.output_bias:
        name = "decoder/projection/bias"
        bias = source.weight(name) if name in source else np.zeros(len(output), np.float32)
        yield "embedding.output_bias", np.append(bias, np.float32(HIDDEN)) if has_start else bias
    own = source.weight("encoder/embeddings_0/weight")
    for side in SIDES:
        if f"{side}/{POSITIONS}" in source:
            source.weight(f"{side}/{POSITIONS}")
    yield "embedding.positions", position_table(source.variables, "decoder", config.d_model, config.max_length)
    if config.source_embedding == "separate":
        rows = words.source_rows
        yield "source_embedding.weight", with_zeros(own, has_start) if rows is None else reordered(own, rows)
        table = position_table(source.variables, "encoder", config.d_model, config.max_length)
        yield "source_embedding.positions", table


def with_zeros(matrix: Array, is_wanted: bool) -> Array:
    return np.concatenate([matrix, np.zeros_like(matrix[:1])]) if is_wanted else matrix


def reordered(matrix: Array, rows: NDArray[np.int64]) -> Array:
    """The rows of a matrix in another order, zeros for NONE."""
    result: Array = np.concatenate([matrix, np.zeros_like(matrix[:1])])[np.where(rows == NONE, len(matrix), rows)]
    return result


def layer(source: Source, side: str, index: int, config: ModelConfig) -> Named:
    ours, theirs, width = f"{side}.layers.{index}", f"{side}/layer_{index}", config.d_model
    own = f"{theirs}/self_attention"
    yield from linear(source, f"{ours}.self_attention.query", f"{own}/linear_0", slice(0, width))
    yield from linear(source, f"{ours}.self_attention.memory", f"{own}/linear_0", slice(width, None))
    yield from linear(source, f"{ours}.self_attention.output", f"{own}/linear_1")
    yield from norm(source, f"{ours}.self_norm", f"{own}/layer_norm")
    if side == "decoder":
        for number, name in enumerate(("query", "memory", "output")):
            yield from linear(source, f"{ours}.cross_attention.{name}", f"{theirs}/attention/linear_{number}")
        yield from norm(source, f"{ours}.cross_norm", f"{theirs}/attention/layer_norm")
    for number, name in enumerate(("expand", "contract")):
        yield from linear(source, f"{ours}.ffn.{name}", f"{theirs}/ffn/linear_{number}")
    yield from norm(source, f"{ours}.ffn_norm", f"{theirs}/ffn/layer_norm")


def linear(source: Source, ours: str, theirs: str, rows: slice = slice(None)) -> Named:
    """A linear map, or some of its results; maps without bias have one of zeros."""
    weight = source.weight(f"{theirs}/weight")[rows]
    yield f"{ours}.weight", weight
    has_bias = f"{theirs}/bias" in source
    yield f"{ours}.bias", source.weight(f"{theirs}/bias")[rows] if has_bias else np.zeros(len(weight), np.float32)


def norm(source: Source, ours: str, theirs: str) -> Named:
    """Raises ImportRefused for an RMS norm, which has no bias."""
    if f"{theirs}/gamma" in source and f"{theirs}/beta" not in source:
        raise ImportRefused(f"{source.variables.path}: {theirs} is an RMS norm, which is not computed")
    yield f"{ours}.weight", source.weight(f"{theirs}/gamma")
    yield f"{ours}.bias", source.weight(f"{theirs}/beta")
