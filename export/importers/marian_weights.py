"""The weights of a Marian checkpoint under the names of RingMT's model."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from export.importers import ImportRefused
from model.config import ModelConfig
from model.layers import sinusoidal_positions
from model.masks import HIDDEN
from model.translation_model import TranslationModel

POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
POSITION_TOLERANCE = 1e-3
SHARED, SOURCE, TARGET = "model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT, BIAS, OUTPUT_BIAS = "lm_head.weight", "final_logits_bias", "embedding.output_bias"
NORMS = {"self_norm": "self_attn_layer_norm", "cross_norm": "encoder_attn_layer_norm", "ffn_norm": "final_layer_norm"}
ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
FEED_FORWARD = {"expand": "fc1", "contract": "fc2"}


def is_tied(weights: dict[str, Tensor], default: bool) -> bool:
    """Whether the target's embedding is the output projection: decided by the weights, not by the configuration."""
    embedding = weights.get(TARGET, weights.get(SHARED))
    if OUTPUT not in weights or embedding is None:
        return default
    return torch.equal(weights[OUTPUT], embedding)


def model_of(
    weights: dict[str, Tensor], config: ModelConfig, unwanted: tuple[int, ...], where: Path
) -> TranslationModel:
    """The model in evaluation mode; it never chooses words of `unwanted`. Raises ImportRefused for weights that are
    missing, of another shape, or left over."""
    left = dict(weights)
    check_positions(left, config, where)
    ours = dict(names(config, left))
    missing = next((name for name in ours.pop(OUTPUT_BIAS) if name not in left), None)
    if missing is not None:
        raise ImportRefused(f"{where}: the weights have no {missing}, which a model of this shape has")
    bias = left.pop(BIAS).flatten().clone()
    bias[list(unwanted)] = HIDDEN
    return load_named(ours, left, weights, {OUTPUT_BIAS: bias}, config, where)


def load_named(
    names: dict[str, list[str]],
    left: dict[str, Tensor],
    weights: dict[str, Tensor],
    computed: dict[str, Tensor],
    config: ModelConfig,
    where: Path,
) -> TranslationModel:
    """The model with the weights `names` (our name -> theirs, which are concatenated) out of `left`, and with
    `computed` ones. Raises ImportRefused for weights that are missing, of another shape, or left over, copies among all
    `weights` excepted."""
    named = dict(computed)
    for ours, theirs in names.items():
        missing = [name for name in theirs if name not in left]
        if missing:
            raise ImportRefused(f"{where}: the weights have no {missing[0]}, which a model of this shape has")
        parts = [left.pop(name) for name in theirs]
        named[ours] = torch.cat(parts) if len(parts) > 1 else parts[0]
    drop_copies(left, weights)
    if left:
        raise ImportRefused(f"{where}: the weights have {sorted(left)[0]}, which RingMT's models have no place for")
    model = TranslationModel(config).eval()
    try:
        model.load_state_dict(named)
    except RuntimeError as error:
        raise ImportRefused(f"{where}: the weights and config.json do not belong together: {error}") from error
    return model


def names(config: ModelConfig, there: dict[str, Tensor]) -> Iterator[tuple[str, list[str]]]:
    """(our name, their names) of every weight; several of theirs are concatenated in ours."""
    separate = config.source_embedding == "separate"
    yield "embedding.weight", [SHARED if SHARED in there and not separate else TARGET]
    if separate:
        yield "source_embedding.weight", [SOURCE]
    if not config.tied_output:
        yield "embedding.output_weight", [OUTPUT]
    yield OUTPUT_BIAS, [BIAS]
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for layer in range(count):
            yield from layer_names(f"{side}.layers.{layer}", side == "decoder")


def layer_names(layer: str, crosses: bool) -> Iterator[tuple[str, list[str]]]:
    theirs = f"model.{layer}"
    for kind in ("weight", "bias"):
        for norm, name in NORMS.items():
            if crosses or norm != "cross_norm":
                yield f"{layer}.{norm}.{kind}", [f"{theirs}.{name}.{kind}"]
        for attention, name in ATTENTIONS.items():
            if crosses or attention != "cross_attention":
                ours, prefix = f"{layer}.{attention}", f"{theirs}.{name}"
                yield f"{ours}.query.{kind}", [f"{prefix}.q_proj.{kind}"]
                yield f"{ours}.memory.{kind}", [f"{prefix}.k_proj.{kind}", f"{prefix}.v_proj.{kind}"]
                yield f"{ours}.output.{kind}", [f"{prefix}.out_proj.{kind}"]
        for linear, name in FEED_FORWARD.items():
            yield f"{layer}.ffn.{linear}.{kind}", [f"{theirs}.{name}.{kind}"]


def check_positions(left: dict[str, Tensor], config: ModelConfig, where: Path) -> None:
    """Take out the position embeddings, which must be the sinusoids that the model computes. Raises ImportRefused."""
    for name in POSITIONS:
        table = left.pop(name, None)
        if table is None:
            continue
        expected = sinusoidal_positions(len(table), config.d_model)
        if table.shape != expected.shape or (table - expected).abs().max() > POSITION_TOLERANCE:
            raise ImportRefused(f"{where}: {name} are learned positions; RingMT has sinusoids only")


def drop_copies(left: dict[str, Tensor], weights: dict[str, Tensor]) -> None:
    """Take out copies of embeddings: a shared one for each side, and a tied output projection."""
    embeddings = [weights[name] for name in (SHARED, TARGET) if name in weights]
    for name in (SHARED, SOURCE, TARGET, OUTPUT):
        if name in left and any(
            torch.equal(left[name], embedding) for embedding in embeddings if embedding is not weights[name]
        ):
            del left[name]
