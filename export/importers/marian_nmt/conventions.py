"""Marian's configuration of a Transformer as ours, or the reason why it is not computed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.importers import ImportRefused
from export.importers.marian_nmt.container import MarianModel
from model.config import AttentionConfig, ModelConfig, SpecialIds

ACTIVATIONS = ("relu", "swish", "gelu")
EPSILON = 1e-6
"""Of Marian's norms."""
ONLY: dict[str, tuple[tuple[object, ...], str]] = {
    "type": (("transformer",), "the only kind of model that is read"),
    "transformer-ffn-depth": ((2,), "feed-forward layers of another depth are not computed"),
    "transformer-decoder-ffn-depth": ((0, 2), "feed-forward layers of another depth are not computed"),
    "transformer-postprocess-emb": (("", "d"), "operations behind the embedding are not computed"),
    "transformer-tied-layers": (([], None), "layers that share weights are not computed"),
    "transformer-train-position-embeddings": ((False,), "learned positions are not computed"),
    "transformer-disable-position-embeddings": ((False,), "a model without positions is not computed"),
    "transformer-attention-mask": (("default",), "other masks are not computed"),
    "transformer-no-projection": ((False,), "attention without a projection of its result is not computed"),
    "transformer-no-affine": ((False,), "norms without scale and bias are not computed"),
    "transformer-no-bias": ((False,), "linear maps without bias are not computed"),
    "transformer-rnn-projection": ((False,), "a projection behind the SSRU is not computed"),
    "transformer-pool": ((False,), "pooled attention is not computed"),
    "transformer-alibi": ((False,), "linear biases of distance are not computed"),
    "ulr": ((False,), "universal representations are not computed"),
    "lemma-dependency": (("",), "factored vocabularies are not computed"),
    "lemma-dim-emb": ((0,), "factored vocabularies are not computed"),
    "factors-dim-emb": ((0,), "factored vocabularies are not computed"),
    "input-types": (([], None, ["sequence"], ["sequence", "sequence"]), "other inputs than text are not computed"),
    "right-left": ((False,), "decoding from right to left is not computed"),
}
"""Key -> the values that are computed, and what others mean. Marian leaves out keys that it did not have."""
OPERATIONS = {"h": "highway connections", "r": "RMS norms", "s": "gates"}
"""Letters of Marian's operations around a sub-layer that are not computed."""


def check_supported(model: MarianModel) -> None:
    """Raise ImportRefused for a key whose value is not computed."""
    for key, (computed, reason) in ONLY.items():
        if key in model.config and model.config[key] not in computed:
            raise ImportRefused(f"{model.path}: {key} is {model.config[key]!r}: {reason}")
    if is_ssru(model) and model.config.get("layer-normalization"):
        raise ImportRefused(f"{model.path}: layer-normalization is true: a norm within the SSRU is not computed")


def is_ssru(model: MarianModel) -> bool:
    """Whether the decoder has SSRUs, or else self-attention. Raises ImportRefused for anything else."""
    kind = model.config.get("transformer-decoder-autoreg", "self-attention")
    cell = model.config.get("dec-cell")
    if kind == "rnn" and cell != "ssru":
        raise ImportRefused(
            f"{model.path}: dec-cell is {cell!r}; of recurrent decoders only those with 'ssru' are computed"
        )
    if kind not in ("rnn", "self-attention"):
        raise ImportRefused(f"{model.path}: transformer-decoder-autoreg is {kind!r}, which is not computed")
    return bool(kind == "rnn")


def norm_of(model: MarianModel) -> str:
    """Where the norms are: "before" the sub-layers or "after" the sums. Raises ImportRefused."""
    keys = [f"transformer-{name}" for name in ("preprocess", "postprocess", "postprocess-top")]
    given = [str(model.config.get(key, default) or "") for key, default in zip(keys, ("", "dan", ""), strict=True)]
    before, behind, top = (operations.replace("d", "") for operations in given)
    for key, operations in zip(keys, given, strict=True):
        for letter, name in OPERATIONS.items():
            if letter in operations:
                raise ImportRefused(f"{model.path}: {key} is '{operations}': {name} are not computed")
    match before, behind, top:
        case "", "an", "":
            return "after"
        case "n", "a", "n" if is_ssru(model):
            return "before"
        case "n", "a", "n":
            raise ImportRefused(
                f"{model.path} has norms before the sub-layers and self-attention in the decoder: there Marian "
                "attends to states without norm, which is not computed"
            )
    described = ", ".join(f"{key} '{operations}'" for key, operations in zip(keys, given, strict=True))
    raise ImportRefused(
        f"{model.path} has {described}; computed are '', 'dan', '' (norms behind the sums) and 'n', 'da', 'n' (norms "
        "before the sub-layers)"
    )


def number(model: MarianModel, key: str) -> int:
    """A size of the configuration. Raises ImportRefused where there is none."""
    value = model.config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ImportRefused(f"{model.path}: {key} must be a number from 1 on, not {value!r}")
    return value


@dataclass(frozen=True)
class Embeddings:
    """The names of a model's tables of words, and their sizes."""

    source: str
    target: str
    output: str | None
    """The output projection where it is a matrix of its own."""
    source_size: int
    target_size: int

    @property
    def is_shared(self) -> bool:
        return self.source == self.target

    @classmethod
    def of(cls, model: MarianModel) -> "Embeddings":
        """Raises ImportRefused."""
        names = ("Wemb", "Wemb") if "Wemb" in model.weights else ("encoder_Wemb", "decoder_Wemb")
        for name in names:
            if name not in model.weights:
                raise ImportRefused(f"{model.path} has no {name}: it is no model of one source and one target")
        outputs = [name for name in ("decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W") if name in model.weights]
        source, target = (len(model.weights[name]) for name in names)
        return cls(*names, outputs[0] if outputs else None, source, target)


def config_of(model: MarianModel, ids: SpecialIds, ngram: int | None, max_length: int) -> ModelConfig:
    """The model's configuration, in which one word follows those of Marian: its embedding is zero, which is what Marian
    decodes from. Raises ImportRefused and ConfigError."""
    check_supported(model)
    theirs: Mapping[str, Any] = model.config
    embeddings, width = Embeddings.of(model), number(model, "transformer-dim-ffn")
    if theirs.get("transformer-decoder-dim-ffn", 0) not in (0, width):
        raise ImportRefused(f"{model.path}: transformer-decoder-dim-ffn differs from transformer-dim-ffn {width}")
    activation = theirs.get("transformer-ffn-activation", "relu")
    if activation not in ACTIVATIONS:
        raise ImportRefused(
            f"{model.path}: transformer-ffn-activation {activation!r} is none of {', '.join(ACTIVATIONS)}"
        )
    recurrent = is_ssru(model)
    if recurrent and ngram is not None:
        raise ImportRefused(f"{model.path} has a decoder of SSRUs, for which there is no order: leave --ngram out")
    return ModelConfig(
        vocab_size=embeddings.target_size + 1,
        d_model=number(model, "dim-emb"),
        num_heads=number(model, "transformer-heads"),
        ffn_dim=width,
        encoder_layers=number(model, "enc-depth"),
        decoder_layers=number(model, "dec-depth"),
        ngram=ngram,
        max_length=max_length,
        dropout=0.0,
        decoder_attention=AttentionConfig(kind="ssru", layers="full") if recurrent else AttentionConfig(),
        norm=norm_of(model),
        norm_epsilon=EPSILON,
        activation=activation,
        positions="tensor2tensor",
        source_embedding="shared" if embeddings.is_shared else "separate",
        source_vocab_size=None if embeddings.is_shared else embeddings.source_size,
        tied_output=embeddings.output is None,
        output_bias=True,
        pad_id=embeddings.target_size,
        unk_id=ids.unk,
        bos_id=embeddings.target_size,
        eos_id=ids.eos,
    )


def guided_layer(path: Path, config: Mapping[str, Any], layers: int) -> int:
    """The number of the decoder's layer whose first head was trained to align. Raises ImportRefused."""
    named = config.get("transformer-guided-alignment-layer", "last")
    layer = layers if named == "last" else int(named) if str(named).isdecimal() else 0
    if not 1 <= layer <= layers:
        raise ImportRefused(f"{path}: transformer-guided-alignment-layer {named!r} is none of 1 to {layers}")
    return layer
