"""Tiny random models in CTranslate2's format, by its own specifications; translations vary and end."""

import dataclasses
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import common_spec, transformer_spec
from numpy.typing import NDArray

from server.subwords.moses import Moses
from tests.marian import pieces_of, spm
from tests.subwords import TEXT, codes
from tests.subwords import pieces_of as pieces_of_codes

WIDTH, FFN, LAYERS, HEADS, TABLE = 32, 64, 2, 2, 64
SPECIAL = ("<unk>", "<blank>", "<s>", "</s>")
"""In the order of OpenNMT-py."""


@dataclass(frozen=True)
class Shape:
    """What differs between models. `positions`: None for those that CTranslate2 computes."""

    norms_before: bool = True
    activation: str = "RELU"
    positions: str | None = "interleaved"
    quantization: str | None = None
    biases: bool = True
    tied: bool = False
    two_vocabularies: bool = False
    source_eos: bool = False
    source_bos: bool = False
    from_zero: bool = False
    scaled: bool = True
    epsilon: float | None = None
    alignment: tuple[int, int] = (-1, 1)
    eos_bonus: float = 3.0
    more_words: int = 0


SHAPES = {
    "OpenNMT-py at int8, without biases": Shape(biases=False, quantization="int8", epsilon=1e-6, eos_bonus=4.0),
    "OpenNMT-tf, computed positions, two vocabularies at int16": Shape(
        positions=None, two_vocabularies=True, quantization="int16", activation="GELU"
    ),
    "Marian, from zero, tied, at int8_float16": Shape(
        norms_before=False, activation="SWISH", tied=True, from_zero=True, quantization="int8_float16", eos_bonus=3.3
    ),
    "fairseq, learned positions, BOS and EOS, at bfloat16": Shape(
        norms_before=False, positions="learned", source_bos=True, source_eos=True, scaled=False, two_vocabularies=True,
        quantization="bfloat16", eos_bonus=4.0,
    ),
}  # fmt: skip


def words_of(shape: Shape) -> tuple[list[str], list[str]]:
    """The vocabularies of both sides: special words in another order where there are two."""
    source, target = (pieces_of(side) for side in ("source", "target"))
    target = [*target, *(f"<more {number}>" for number in range(shape.more_words))]
    if shape.two_vocabularies:
        return ["<blank>", "<s>", "</s>", *source, "<unk>"], [*SPECIAL, *target]
    both = [*SPECIAL, *sorted({*source, *target})]
    return both, both


class Random:
    """Arrays of a model, from a seed."""

    def __init__(self, seed: int, biases: bool) -> None:
        self.generator, self.biases = np.random.default_rng(seed), biases

    def array(self, *shape: int, scale: float) -> NDArray[np.float32]:
        return self.generator.normal(0, scale, shape).astype(np.float32)

    def linear(self, spec: Any, rows: int, columns: int, gain: float = 1.0, biased: bool = True) -> None:
        spec.weight = self.array(rows, columns, scale=gain / columns**0.5)
        if biased:
            spec.bias = self.array(rows, scale=0.1)

    def norm(self, spec: Any) -> None:
        spec.gamma = 1 + self.array(WIDTH, scale=0.3)
        spec.beta = self.array(WIDTH, scale=0.1)


def position_table(kind: str, random: Random) -> NDArray[np.float32]:
    if kind == "learned":
        return random.array(TABLE, WIDTH, scale=0.5)
    angles = np.arange(TABLE)[:, None] * np.exp(np.arange(0, WIDTH, 2) * -(np.log(10000.0) / WIDTH))
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(TABLE, WIDTH).astype(np.float32)


def write_model(folder: Path, shape: Shape, seed: int = 0, words: tuple[list[str], list[str]] | None = None) -> None:
    """A folder as CTranslate2's converters write it, with both SentencePiece models, or with other `words`."""
    random = Random(seed, shape.biases)
    source, target = words or words_of(shape)
    spec: Any = transformer_spec.TransformerSpec.from_config(
        (LAYERS, LAYERS), HEADS, pre_norm=shape.norms_before, activation=common_spec.Activation[shape.activation],
        alignment_layer=shape.alignment[0], alignment_heads=shape.alignment[1],
    )  # fmt: skip
    scale = WIDTH**-0.5 if shape.scaled else 1.0
    spec.encoder.embeddings[0].weight = random.array(len(source), WIDTH, scale=scale)
    spec.decoder.embeddings.weight = random.array(len(target), WIDTH, scale=scale)
    spec.decoder.projection.weight = spec.decoder.embeddings.weight
    if shape.tied:
        spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight
    else:
        spec.decoder.projection.weight = random.array(len(target), WIDTH, scale=2 * WIDTH**-0.5)
    if not shape.from_zero or shape.eos_bonus:
        spec.decoder.projection.bias = random.array(len(target), scale=0.5)
        spec.decoder.projection.bias[target.index("</s>")] += shape.eos_bonus
    spec.decoder.start_from_zero_embedding = shape.from_zero
    for side in (spec.encoder, spec.decoder):
        side.scale_embeddings = shape.scaled
        if shape.positions is not None:
            side.position_encodings.encodings = position_table(shape.positions, random)
        if shape.norms_before:
            random.norm(side.layer_norm)
        for layer in side.layer:
            fill_layer(layer, random, shape, has_source=side is spec.decoder)
    spec.config.decoder_start_token = "</s>" if shape.from_zero else "<s>"
    spec.config.add_source_eos, spec.config.add_source_bos = shape.source_eos, shape.source_bos
    spec.config.layer_norm_epsilon = shape.epsilon
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.validate()
    spec.optimize(quantization=shape.quantization)
    folder.mkdir(parents=True)
    spec.save(str(folder))
    for side in ("source", "target") if words is None else ():
        (folder / f"{side}.spm").write_bytes(spm(side))


def fill_layer(layer: Any, random: Random, shape: Shape, has_source: bool) -> None:
    own = layer.self_attention
    random.linear(own.linear[0], 3 * WIDTH, WIDTH, 1.5, shape.biases)
    random.linear(own.linear[1], WIDTH, WIDTH, 2.0, shape.biases)
    random.norm(own.layer_norm)
    if has_source:
        for number, rows in enumerate((WIDTH, 2 * WIDTH, WIDTH)):
            random.linear(layer.attention.linear[number], rows, WIDTH, 1.5, shape.biases)
        random.norm(layer.attention.layer_norm)
    random.linear(layer.ffn.linear_0, FFN, WIDTH)
    random.linear(layer.ffn.linear_1, WIDTH, FFN, 2.0)
    random.norm(layer.ffn.layer_norm)


def write_package(folder: Path, source: str, target: str, **metadata: object) -> None:
    """An installed package of Argos, with one vocabulary and SentencePiece model for both sides."""
    write_model(folder / "model", SHAPES["OpenNMT-py at int8, without biases"])
    for side in ("source", "target"):
        (folder / "model" / f"{side}.spm").unlink()
    (folder / "sentencepiece.model").write_bytes(spm("source"))
    (folder / "README.md").write_text("Made by a test.\n", encoding="utf-8")
    values = {"package_version": "1.9", "argos_version": "1.9", "from_code": source, "to_code": target, **metadata}
    (folder / "metadata.json").write_text(json.dumps(values), encoding="utf-8")


def write_codes_package(folder: Path, source: str, target: str) -> list[str]:
    """An older package, whose words are cut by codes of subword-nmt; returns them."""
    write_package(folder, source, target)
    (folder / "sentencepiece.model").unlink()
    shutil.rmtree(folder / "model")
    words = [*SPECIAL, *pieces_of_codes(TEXT, Moses(source, normalizes=True), codes())]
    shape = dataclasses.replace(SHAPES["OpenNMT-py at int8, without biases"], quantization=None, eos_bonus=3.0)
    write_model(folder / "model", shape, words=(words, words))
    (folder / "bpe.model").write_text(codes(), encoding="utf-8")
    return words


def write_zip(folder: Path, path: Path) -> Path:
    """A package as it is downloaded: a zip of one folder."""
    made = shutil.make_archive(str(path), "zip", folder.parent, folder.name)
    return Path(made).rename(path)
