"""CTranslate2's description of a Transformer as our configuration, or the reason why it is not computed."""

import math
import re

import numpy as np

from export.importers import ImportRefused
from export.importers.ctranslate2.container import Array, Variables
from export.importers.ctranslate2.folder import MANY_LANGUAGES, ModelFolder
from export.importers.ctranslate2.vocabulary import Words
from export.importers.language_codes import named
from model.alignment import AlignmentHead
from model.config import ModelConfig

SIDES = ("encoder", "decoder")
DECODER = "decoder/embeddings"
SPECIFICATIONS = {"": 8, "TransformerSpec": 8, "TransformerBase": 8, "TransformerBig": 16}
"""Specifications of translation models -> their number of heads, where the file does not say it."""
OTHER_SPECIFICATIONS = {
    "TransformerDecoderModelSpec": "a language model",
    "TransformerEncoderModelSpec": "an encoder",
    "WhisperSpec": "a model of speech",
    "Wav2Vec2Spec": "a model of speech",
    "Wav2Vec2BertSpec": "a model of speech",
}
ACTIVATIONS = {0: "relu", 2: "swish", 3: "gelu"}
OTHER_ACTIVATIONS = {1: "gelu by tanh", 4: "gelu by a sigmoid", 5: "tanh", 6: "a sigmoid"}
NOT_COMPUTED = (
    ("relative_position_keys", "relative positions without absolute ones"),
    ("relative_position_values", "relative positions without absolute ones"),
    ("relative_asymmetric_position", "relative positions without absolute ones"),
    ("relative_attention_bias", "the relative attention bias of T5"),
    ("relative_left_max_position", "relative positions without absolute ones"),
    ("rotary_", "rotary positions"),
    ("original_max_position_embeddings", "rotary positions"),
    ("layernorm_embedding/", "a norm behind the embedding"),
    ("linear_0_noact/", "gated feed-forward layers"),
    ("q_norm/", "norms of queries and keys"),
    ("k_norm/", "norms of queries and keys"),
    ("queries_scale", "a scale of the queries"),
    ("head_dim", "heads of another width"),
    ("sliding_window", "a window of the attention"),
    ("project_in/", "projections around the decoder"),
    ("project_out/", "projections around the decoder"),
    ("scale_outputs", "scaled logits"),
    ("final_logit_softcapping", "capped logits"),
    ("_layer_norm/", "more than one norm a sub-layer"),
    ("weight_zero", "weights of AWQ"),
    ("encoder/embeddings_1/", "source factors"),
)
"""Parts of names of variables that are not computed, and what they mean."""
FLAGS = {
    "alibi": "linear biases of distance",
    "multi_query_attention": "keys and values that heads share",
}
"""Variables of a side that must be 0 where they are."""
SCALE_TOLERANCE = 1e-3
POSITIONS = "position_encodings/encodings"
LAYER = re.compile(r"^(encoder|decoder)/layer_(\d+)/")


def check_supported(folder: ModelFolder) -> None:
    """Raise ImportRefused, with its name, for a part of the model that is not computed."""
    variables = folder.variables
    if variables.specification not in SPECIFICATIONS:
        what = OTHER_SPECIFICATIONS.get(variables.specification, "not known here")
        raise ImportRefused(
            f"{variables.path} is a {variables.specification}, {what}: only models that translate text from one "
            "language into another (TransformerSpec) are computed"
        )
    for name in sorted(variables.names):
        for part, meaning in NOT_COMPUTED:
            if part in name:
                raise ImportRefused(f"{variables.path} has {name}: {meaning} are not computed")
        if name.endswith("num_heads_kv") and variables.number(name, 0) != heads_of(variables, name.split("/")[0]):
            raise ImportRefused(f"{variables.path} has {name}: keys and values that heads share are not computed")
    for side in SIDES:
        for flag, meaning in FLAGS.items():
            if variables.number(f"{side}/{flag}", 0):
                raise ImportRefused(f"{variables.path}: {side}/{flag} is set: {meaning} are not computed")
    check_languages(folder)


def check_languages(folder: ModelFolder) -> None:
    """Raise ImportRefused for a model whose translations begin with language tokens that its sources do not have."""
    tokens = [word for word in folder.target if not word.startswith(">>") and named(word) is not None]
    if len(tokens) >= MANY_LANGUAGES and not folder.many_tokens:
        raise ImportRefused(
            f"{folder.path} is a model of many languages ({', '.join(tokens[:3])}, ...) with two vocabularies: M2M-100 "
            "and NLLB have one"
        )


def check_sizes(folder: ModelFolder) -> None:
    """Raise ImportRefused where the vocabularies and the model do not belong together."""
    for side, words, rows in (("source", folder.source, "encoder/embeddings_0"), ("target", folder.target, DECODER)):
        shape = shape_of(folder.variables, f"{rows}/weight")
        if len(shape) != 2 or shape[0] != len(words):
            raise ImportRefused(
                f"{folder.path}: the vocabulary of the {side} has {len(words)} words and {rows}/weight the shape "
                f"{list(shape)}: these files do not belong together"
            )


def config_of(folder: ModelFolder, words: Words, ngram: int | None, max_length: int) -> ModelConfig:
    """The model's configuration. Raises ImportRefused and ConfigError."""
    check_sizes(folder)
    variables = folder.variables
    size, width = shape_of(variables, f"{DECODER}/weight")
    norms_before = same_on_both_sides(variables, "pre_norm", 1)
    activation = int(same_on_both_sides(variables, "activation", 0))
    if activation not in ACTIVATIONS:
        name = OTHER_ACTIVATIONS.get(activation, f"number {activation}")
        raise ImportRefused(f"{variables.path}: the activation {name} is not computed")
    ffn = {shape_of(variables, f"{side}/layer_0/ffn/linear_0/weight")[0] for side in SIDES}
    if len(ffn) != 1:
        raise ImportRefused(f"{variables.path}: feed-forward layers of encoder and decoder differ in width: {ffn}")
    tables = [position_table(variables, side, width, max_length) for side in SIDES]
    shares = words.source_rows is None and equal(variables, "encoder/embeddings_0/weight", "decoder/embeddings/weight")
    shares = shares and tables[0].shape == tables[1].shape and bool((tables[0] == tables[1]).all())
    return ModelConfig(
        vocab_size=size + starts_from_zero(variables),
        d_model=width,
        num_heads=int(same_on_both_sides(variables, "num_heads", SPECIFICATIONS[variables.specification])),
        ffn_dim=ffn.pop(),
        encoder_layers=layers_of(variables, "encoder"),
        decoder_layers=layers_of(variables, "decoder"),
        ngram=ngram,
        max_length=min(len(tables[0]), len(tables[1])),
        dropout=0.0,
        norm="before" if norms_before else "after",
        norm_epsilon=folder.conventions.epsilon,
        activation=ACTIVATIONS[activation],
        positions="learned",
        scaled_embedding=is_scaled(variables, width),
        source_embedding="shared" if shares else "separate",
        source_vocab_size=None if words.source_rows is None else len(words.source_rows),
        tied_output=equal(variables, "decoder/embeddings/weight", "decoder/projection/weight"),
        output_bias="decoder/projection/bias" in variables or starts_from_zero(variables),
        pad_id=words.ids.pad,
        unk_id=words.ids.unk,
        bos_id=words.ids.bos,
        eos_id=words.ids.eos,
        source_eos=folder.conventions.has_source_eos or starts_from_zero(variables) or bool(folder.many_tokens),
    )


def starts_from_zero(variables: Variables) -> bool:
    """Whether decoding begins with a vector of zeros, as Marian's does; its sources end with EOS, by whoever cut
    them."""
    return bool(variables.number("decoder/start_from_zero_embedding", 0))


def heads_of(variables: Variables, side: str) -> float:
    return variables.number(f"{side}/num_heads", SPECIFICATIONS.get(variables.specification, 8))


def shape_of(variables: Variables, name: str) -> tuple[int, ...]:
    """Raises ImportRefused for a variable that is missing, or a single number."""
    if name not in variables or not variables.stored[variables.resolved(name)].ndim:
        raise ImportRefused(f"{variables.path} has no {name}, which a Transformer for translation has")
    return variables.stored[variables.resolved(name)].shape


def layers_of(variables: Variables, side: str) -> int:
    numbers = {int(match[2]) for name in variables.names if (match := LAYER.match(name)) and match[1] == side}
    if not numbers or numbers != {*range(len(numbers))}:
        raise ImportRefused(f"{variables.path}: the {side}'s layers are {sorted(numbers)}, not 0, 1, 2, ...")
    return len(numbers)


def same_on_both_sides(variables: Variables, key: str, default: float) -> float:
    """A number that RingMT has once. Raises ImportRefused where encoder and decoder differ."""
    values = {variables.number(f"{side}/{key}", default) for side in SIDES}
    if len(values) > 1:
        raise ImportRefused(f"{variables.path}: encoder/{key} and decoder/{key} differ; RingMT has one")
    return values.pop()


def is_scaled(variables: Variables, width: int) -> bool:
    """Whether embeddings are multiplied by sqrt(width): a flag, or since revision 3 also a number. Raises
    ImportRefused for another factor."""
    factors = []
    for side in SIDES:
        name = f"{side}/scale_embeddings"
        value, is_flag = variables.number(name, 1), name not in variables
        is_flag = is_flag or variables.stored[variables.resolved(name)].dtype.kind != "f"
        factors.append((math.sqrt(width) if value else 1.0) if is_flag else value)
    scaled = [abs(factor - math.sqrt(width)) < SCALE_TOLERANCE for factor in factors]
    if any(not good and abs(factor - 1) > SCALE_TOLERANCE for good, factor in zip(scaled, factors, strict=True)):
        raise ImportRefused(f"{variables.path}: embeddings are multiplied by {factors}, not by 1 or sqrt(d)")
    if len({*scaled}) > 1:
        raise ImportRefused(f"{variables.path}: embeddings of one side are multiplied by sqrt(d), of the other not")
    return scaled[0]


def position_table(variables: Variables, side: str, width: int, length: int) -> Array:
    """The first `length` rows that are added to embeddings: those of the file, or Tensor2Tensor's sinusoids from
    position 1 on, which CTranslate2 computes where the file has none."""
    name = f"{side}/{POSITIONS}"
    if name in variables:
        table = variables.weight(name)
        return table.reshape(-1, table.shape[-1])[:length]
    rates = np.exp(np.arange(width // 2, dtype=np.float32) * np.float32(-math.log(10000) / max(width / 2 - 1, 1)))
    angles = np.arange(1, length + 1, dtype=np.float32)[:, None] * rates
    computed: Array = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return computed


def equal(variables: Variables, left: str, right: str) -> bool:
    """Whether two matrices are the same: files before version 3 store them twice. Raises ImportRefused for one that is
    missing."""
    for name in (left, right):
        if name not in variables:
            raise ImportRefused(f"{variables.path} has no {name}: it is no model that translates")
    if variables.resolved(left) == variables.resolved(right):
        return True
    first, second = variables.weight(left), variables.weight(right)
    return first.shape == second.shape and bool((first == second).all())


def alignment_of(variables: Variables, config: ModelConfig) -> AlignmentHead | None:
    """The head that the model was trained to align with. None where the file has the converters' default, which says
    nothing, or the mean of some heads: the best one is measured."""
    layer = int(variables.number("decoder/alignment_layer", -1))
    heads = int(variables.number("decoder/alignment_heads", 1))
    if layer < 0 and heads == 1:
        return None
    number = 1 + (layer if layer >= 0 else config.decoder_layers + layer)
    if not 1 <= number <= config.decoder_layers or heads not in (0, 1, config.num_heads):
        return None
    return AlignmentHead(number, 1 if heads == 1 and config.num_heads > 1 else None)
