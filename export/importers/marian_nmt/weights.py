"""The weights of a Marian model under the names of RingMT's model."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from export.importers import ImportRefused
from export.importers.marian_nmt.container import Array, MarianModel
from export.importers.marian_nmt.conventions import Embeddings
from model.config import ModelConfig
from model.masks import HIDDEN
from model.translation_model import TranslationModel

ALPHA = "_QuantMultA"
"""Names that end so are multipliers of activations at int8, no weights."""
OUTPUT_BIAS = "decoder_ff_logit_out_b"
Make = Callable[[list[Array]], Array]
Entry = tuple[str, list[str], Make]
"""Our name, theirs, and how ours is made of theirs."""


def model_of(marian: MarianModel, config: ModelConfig) -> TranslationModel:
    """The model in evaluation mode. Raises ImportRefused for weights that are missing, of another shape, or left
    over."""
    left = {name: values for name, values in marian.weights.items() if not name.endswith(ALPHA)}
    model = TranslationModel(config).eval()
    state, named = model.state_dict(), dict[str, Tensor]()
    for ours, theirs, make in entries(marian, config):
        missing = [name for name in theirs if name not in left]
        if missing:
            raise ImportRefused(f"{marian.path} has no {missing[0]}, which its configuration needs")
        made = make([left.pop(name) for name in theirs])
        if made.shape != state[ours].shape:
            raise ImportRefused(
                f"{marian.path}: {theirs[0]} has another shape than its configuration says: {list(made.shape)} where "
                f"the model has {list(state[ours].shape)}"
            )
        named[ours] = torch.from_numpy(np.ascontiguousarray(made))
    if left:
        raise ImportRefused(f"{marian.path} has the weights {sorted(left)[0]}, which are not computed")
    model.load_state_dict(named)
    return model


def entries(marian: MarianModel, config: ModelConfig) -> Iterator[Entry]:
    embeddings = Embeddings.of(marian)
    yield "embedding.weight", [embeddings.target], with_start
    if not embeddings.is_shared:
        yield "source_embedding.weight", [embeddings.source], only
    if embeddings.output is not None:
        is_turned = embeddings.output.endswith("_Wt")
        yield "embedding.output_weight", [embeddings.output], with_start if is_turned else turned_with_start
    if OUTPUT_BIAS in marian.weights:
        yield "embedding.output_bias", [OUTPUT_BIAS], bias_with_start
    elif marian.config.get("output-omit-bias"):
        yield "embedding.output_bias", [], lambda _: bias_with_start([np.zeros(embeddings.target_size, np.float32)])
    else:
        raise ImportRefused(f"{marian.path} has no {OUTPUT_BIAS}, which its configuration needs")
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for index in range(count):
            yield from layer_entries(side, index, config)
        if config.norm == "before":
            yield from norm_entries(f"{side}.norm", f"{side}_top", "")


def layer_entries(side: str, index: int, config: ModelConfig) -> Iterator[Entry]:
    ours, theirs = f"{side}.layers.{index}", f"{side}_l{index + 1}"
    suffix = "_pre" if config.norm == "before" else ""
    if side == "decoder" and not config.has_ring:
        rnn = f"{theirs}_rnn"
        yield f"{ours}.self_attention.forget.weight", [f"{rnn}_Wf"], turned
        yield f"{ours}.self_attention.forget.bias", [f"{rnn}_bf"], flat
        yield f"{ours}.self_attention.value.weight", [f"{rnn}_W"], turned
        yield from norm_entries(f"{ours}.self_norm", rnn if suffix else f"{rnn}_ffn", suffix)
    else:
        yield from attention_entries(f"{ours}.self_attention", f"{theirs}_self")
        yield from norm_entries(f"{ours}.self_norm", f"{theirs}_self_Wo", suffix)
    if side == "decoder":
        yield from attention_entries(f"{ours}.cross_attention", f"{theirs}_context")
        yield from norm_entries(f"{ours}.cross_norm", f"{theirs}_context_Wo", suffix)
    for number, name in ((1, "expand"), (2, "contract")):
        yield f"{ours}.ffn.{name}.weight", [f"{theirs}_ffn_W{number}"], turned
        yield f"{ours}.ffn.{name}.bias", [f"{theirs}_ffn_b{number}"], flat
    yield from norm_entries(f"{ours}.ffn_norm", f"{theirs}_ffn_ffn", suffix)


def attention_entries(ours: str, theirs: str) -> Iterator[Entry]:
    for name, letters in (("query", "q"), ("memory", "kv"), ("output", "o")):
        yield f"{ours}.{name}.weight", [f"{theirs}_W{letter}" for letter in letters], turned
        yield f"{ours}.{name}.bias", [f"{theirs}_b{letter}" for letter in letters], flat


def norm_entries(ours: str, theirs: str, suffix: str) -> Iterator[Entry]:
    yield f"{ours}.weight", [f"{theirs}_ln_scale{suffix}"], flat
    yield f"{ours}.bias", [f"{theirs}_ln_bias{suffix}"], flat


def only(given: list[Array]) -> Array:
    return given[0]


def turned(given: list[Array]) -> Array:
    """Matrices [in, out] one below the other, as [out, in]."""
    return np.concatenate([matrix.T for matrix in given])


def flat(given: list[Array]) -> Array:
    return np.concatenate([values.reshape(-1) for values in given])


def with_start(given: list[Array]) -> Array:
    """A row of zeros behind the words: decoding begins with it."""
    return np.concatenate([given[0], np.zeros_like(given[0][:1])])


def turned_with_start(given: list[Array]) -> Array:
    return with_start([given[0].T])


def bias_with_start(given: list[Array]) -> Array:
    """The word behind the others is never chosen."""
    return np.append(given[0].reshape(-1), np.float32(HIDDEN)).astype(np.float32)
