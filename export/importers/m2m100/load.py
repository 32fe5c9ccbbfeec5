"""The content of an artifact from a folder of M2M-100 or NLLB-200."""

from pathlib import Path

import torch
from torch import Tensor

from export.artifact_writer import Content
from export.importers import ImportRefused
from export.importers.language_codes import codes_of
from export.importers.m2m100.folder import UNKNOWN, M2M100Folder
from export.importers.marian_vocabulary import Numbered, write_vocabulary
from export.importers.marian_weights import OUTPUT, SHARED, is_tied, layer_names, load_named
from export.importers.transformers_folder import CONFIG, forces_eos, read_weights, unwanted_words
from model.config import ModelConfig
from model.layers import sinusoidal_positions
from model.masks import HIDDEN
from model.translation_model import TranslationModel
from server.artifact.language_tokens import LanguageTokens

ACTIVATIONS = {"relu": "relu", "swish": "swish", "silu": "swish", "gelu": "gelu"}
COMPUTED = ("model.encoder.embed_positions.weights", "model.decoder.embed_positions.weights")
"""Tables of positions that old files hold, which are computed."""


def load_m2m100(
    folder: M2M100Folder, languages: LanguageTokens, scratch: Path, ngram: int | None, max_length: int
) -> Content:
    """The content of the artifact; the vocabulary is written into the folder `scratch`. Raises ImportRefused and
    ConfigError."""
    words = folder.words()
    if UNKNOWN not in words:
        raise ImportRefused(f"{folder.path}: the vocabulary has no {UNKNOWN}")
    tokens, weights, unwanted = folder.language_tokens(words), read_weights(folder.path), unwanted_words(folder)
    config = config_of(folder, words[UNKNOWN], is_tied(weights, True), bool(unwanted), ngram, max_length)
    numbered = Numbered(folder.spm, words, config.vocab_size, tokens)
    write_vocabulary(numbered, config.ids, scratch / "target.model")
    codes = {code: name for name, code in codes_of(tokens).items()}
    kept = {code: codes[code] for code in dict.fromkeys((*languages.sources, *languages.targets))}
    return Content(
        model_of(weights, config, unwanted, folder.path),
        vocabulary=scratch / "target.model",
        origin={"imported": "m2m100", "name": folder.path.resolve().name, "language_tokens": kept},
        languages=languages,
        forced_eos=forces_eos(folder, config.eos_id),
        parity_on_examples=True,
    )


def config_of(
    folder: M2M100Folder, unknown: int, tied: bool, has_bias: bool, ngram: int | None, max_length: int
) -> ModelConfig:
    """The model's configuration. Raises ImportRefused and ConfigError."""
    pad, start, eos = (folder.number(f"{name}_token_id") for name in ("pad", "decoder_start", "eos"))
    return ModelConfig(
        vocab_size=folder.number("vocab_size"),
        d_model=folder.number("d_model"),
        num_heads=folder.same_number("attention_heads"),
        ffn_dim=folder.same_number("ffn_dim"),
        encoder_layers=folder.number("encoder_layers"),
        decoder_layers=folder.number("decoder_layers"),
        ngram=ngram,
        max_length=min(folder.number("max_position_embeddings"), max_length),
        dropout=0.0,
        activation=folder.activation(ACTIVATIONS),
        positions="learned",
        scaled_embedding=bool(folder.config.get("scale_embedding", True)),
        tied_output=tied,
        output_bias=has_bias,
        pad_id=pad,
        unk_id=unknown,
        bos_id=start,
        eos_id=eos,
    )


def model_of(
    weights: dict[str, Tensor], config: ModelConfig, unwanted: tuple[int, ...], where: Path
) -> TranslationModel:
    """The model in evaluation mode; it never chooses words of `unwanted`. Raises ImportRefused for weights that are
    missing, of another shape, or left over."""
    left = {name: tensor for name, tensor in weights.items() if name not in COMPUTED}
    names = {"embedding.weight": [SHARED]} | ({} if config.tied_output else {"embedding.output_weight": [OUTPUT]})
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        names |= {f"{side}.norm.{kind}": [f"model.{side}.layer_norm.{kind}"] for kind in ("weight", "bias")}
        for layer in range(count):
            names |= dict(layer_names(f"{side}.layers.{layer}", side == "decoder"))
    computed = {"embedding.positions": position_table(config)}
    if config.output_bias:
        computed["embedding.output_bias"] = torch.zeros(config.vocab_size)
        computed["embedding.output_bias"][list(unwanted)] = HIDDEN
    if SHARED not in left:
        raise ImportRefused(f"{where}: the weights have no {SHARED}, which a model of this kind ({CONFIG}) has")
    return load_named(names, left, weights, computed, config, where)


def position_table(config: ModelConfig) -> Tensor:
    """[length, d]: Tensor2Tensor's sinusoids; the first word's is that behind the padding id, as in fairseq."""
    first = config.pad_id + 1
    return sinusoidal_positions(first + config.max_length, config.d_model, "tensor2tensor")[first:]
