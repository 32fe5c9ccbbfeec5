"""Makes the folder `data`: tiny models in Marian's files, and what the real Marian answers with them.

Runs by hand, where pymarian, sentencepiece and NumPy are installed: `python make_models.py`. Marian itself makes every
model (names, shapes, configuration), then its weights are drawn at random: loud enough that translations vary, and in
whole int8 levels, so that files of int8 and of fp32 hold the same numbers and have the same answers. The bias of UNK is
so low that leaving it out changes no score.
"""

import io
import json
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

DATA = Path(__file__).with_name("data")
MARIAN = "import sys, _pymarian; sys.exit(_pymarian.main(sys.argv[1:]))"
ENGLISH = (
    "house",
    "river",
    "man",
    "book",
    "day",
    "rain",
    "bread",
    "milk",
    "water",
    "station",
    "old",
    "cold",
    "the",
    "a",
)
GERMAN = ("Haus", "Fluss", "Mann", "Buch", "Tag", "Regen", "Brot", "Milch", "Wasser", "Bahnhof", "alt", "kalt", "das")
SSRU = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
SHAPES: dict[str, dict[str, Any]] = {
    "student": SSRU | {
        "dim-emb": 64, "transformer-heads": 8, "transformer-dim-ffn": 64, "enc-depth": 1, "dec-depth": 1,
        "tied-embeddings-all": True, "transformer-guided-alignment-layer": "last",
    },
    "attention": {"tied-embeddings-all": True, "transformer-ffn-activation": "swish"},
    "untied": SSRU | {"transformer-ffn-activation": "gelu", "dec-depth": 2},
    "pre-norm-ssru": SSRU | {
        "transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n",
        "tied-embeddings": True,
    },
}  # fmt: skip
SMALL = {"dim-emb": 16, "transformer-heads": 2, "transformer-dim-ffn": 24, "enc-depth": 2, "dec-depth": 1}
SPLIT = ("untied", "pre-norm-ssru")
"""Models with a vocabulary for each language."""
EOS_BIAS = {"student": 3.2, "attention": 1.5, "untied": 3.0, "pre-norm-ssru": 3.5}
"""Some answers of every model end, some are cut."""
INTGEMM8 = 0x4101
"""The code of intgemm8 in Firefox's files; Marian 1.12 itself writes 0x10001."""


def marian(*arguments: object) -> None:
    subprocess.run([sys.executable, "-c", MARIAN, *map(str, arguments)], check=True, capture_output=True)


def texts(words: tuple[str, ...], count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=draw.randint(1, 9))) + draw.choice(".?!") for _ in range(count)]


def write_vocabulary(sentences: list[str], size: int, path: Path) -> None:
    """As Marian trains it: </s> 0, <unk> 1, and no other special piece."""
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences), model_writer=buffer, vocab_size=size, character_coverage=1.0,
        normalization_rule_name="identity", eos_id=0, unk_id=1, bos_id=-1, pad_id=-1, minloglevel=2,
    )  # fmt: skip
    path.write_bytes(buffer.getvalue())


def options(shape: dict[str, Any]) -> list[str]:
    given: list[str] = []
    for name, value in ({"transformer-postprocess-emb": "d"} | SMALL | shape).items():
        given += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return given


def random_weights(model: Path, seed: int) -> dict[str, Any]:
    """Weights of the shapes in `model`, in whole levels of int8 where Marian's converter makes int8 of them."""
    draw = np.random.default_rng(seed)
    weights: dict[str, Any] = {}
    with np.load(model) as arrays:
        for name, old in arrays.items():
            if name == "special:model.yml":
                weights[name] = old
            elif "_ln_scale" in name:
                weights[name] = draw.normal(1, 0.1, old.shape).astype(np.float32)
            elif len(old) == 1:
                weights[name] = draw.normal(0, 0.1, old.shape).astype(np.float32)
            else:
                loud = 2.0 if "_W" in name else 1.0
                if name.startswith("decoder") and name.endswith(("_ffn_W2", "_rnn_W", "_context_Wo")):
                    loud = 10.0
                inputs = old.shape[1] if "Wemb" in name or name.endswith("_Wt") else len(old)
                weights[name] = levels(draw.normal(0, loud / np.sqrt(inputs), old.shape))
    bias = weights["decoder_ff_logit_out_b"]
    bias[0, 0], bias[0, 1] = EOS_BIAS[model.stem], -40.0
    return weights


def levels(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The nearest numbers that int8 holds: k / q with q = 127 / max, so that the largest has level 127."""
    q = np.float32(127) / np.abs(values).max().astype(np.float32)
    rounded: np.ndarray[Any, Any] = np.clip(np.rint(values * q), -127, 127).astype(np.float32) * (np.float32(1) / q)
    return rounded


def write_firefox(weights: dict[str, np.ndarray[Any, Any]], path: Path) -> None:
    """A `.bin` as Firefox has it: int8 with Wemb, and the multipliers of activations."""
    items = []
    for name in sorted(weights):
        values = weights[name]
        if name == "special:model.yml":
            items.append((name, 0x101, values.shape, values.tobytes()))
        elif "Wemb" in name or name[-2:] == "_W" or name[-3:-1] == "_W":
            q = np.float32(127) / np.abs(values).max()
            whole = np.rint(values * q).astype(np.int8)
            body = (whole if "Wemb" in name else np.ascontiguousarray(whole.T)).tobytes() + np.float32(q).tobytes()
            items.append((name, INTGEMM8, values.shape, body))
            items.append((f"{name}_QuantMultA", 0x404, (1,), np.float32(20).tobytes()))
        else:
            items.append((name, 0x404, values.shape, values.tobytes()))
    items.append(("none_QuantMultA", 0x404, (1,), np.float32(20).tobytes()))
    padded = [(name, kind, shape, body + bytes(-len(body) % 256)) for name, kind, shape, body in items]
    out = struct.pack("<QQ", 1, len(padded))
    for name, kind, shape, body in padded:
        out += struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(body))
    out += b"".join(name.encode() + b"\0" for name, *_ in padded)
    out += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in padded)
    offset = (len(out) + 8) // 256 * 256 + 256 - len(out) - 8
    path.write_bytes(out + struct.pack("<Q", offset) + bytes(offset) + b"".join(body for *_, body in padded))


def answers(model: Path, vocabularies: list[Path], sources: Path, beam: int) -> list[dict[str, Any]]:
    """Pieces and score of every sentence, translated alone."""
    out = sources.with_suffix(f".{beam}")
    marian(
        "decode", "-m", model, "-v", *vocabularies, "-i", sources, "-o", out, "-b", beam, "--n-best",
        "--mini-batch", 1, "--max-length-factor", 3, "--normalize", 1, "--no-spm-encode", "--no-spm-decode",
        "--cpu-threads", 1,
    )  # fmt: skip
    best: dict[int, dict[str, Any]] = {}
    for line in out.read_text(encoding="utf-8").splitlines():
        number, pieces, _, score = line.split("|||")
        best.setdefault(int(number), {"pieces": pieces.split(), "score": float(score)})
    return [best[number] for number in sorted(best)]


def make(name: str, folder: Path) -> dict[str, Any]:
    """Write one model; returns what Marian answers."""
    english, german = texts(ENGLISH, 80, 1), texts(GERMAN, 80, 2)
    if name in SPLIT:
        vocabularies = [DATA / "srcvocab.spm", DATA / "trgvocab.spm"]
        write_vocabulary(english, 36, vocabularies[0])
        write_vocabulary(german, 34, vocabularies[1])
    else:
        vocabularies = [DATA / "vocab.spm"] * 2
        write_vocabulary(english + german, 58, vocabularies[0])
    for side, lines in (("en", english), ("de", german)):
        (folder / f"train.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    fresh = folder / f"{name}.npz"
    marian(
        "train", "--type", "transformer", "-m", fresh, "-t", folder / "train.en", folder / "train.de", "-v",
        *vocabularies, *options(SHAPES[name]), "--after-batches", 1, "--mini-batch", 4, "--maxi-batch", 1, "-w", 200,
        "--cpu-threads", 1, "--quiet",
    )  # fmt: skip
    weights = random_weights(fresh, len(name))
    np.savez(fresh, **weights)
    if name == "student":
        marian("convert", "-f", fresh, "-t", DATA / "student.bin", "--gemm-type", "intgemm8")
    else:
        np.savez_compressed(DATA / f"{name}.npz", **weights)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabularies[0]))
    sources = [processor.encode(line, out_type=str) for line in texts(ENGLISH, 25, 3)]
    written = folder / f"{name}.pieces"
    written.write_text("".join(" ".join(pieces) + "\n" for pieces in sources), encoding="utf-8")
    beams = {str(beam): answers(fresh, vocabularies, written, beam) for beam in (1, 4)}
    return {"sources": sources, "beams": beams}


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        answers_by_model = {name: make(name, Path(scratch)) for name in SHAPES}
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(values, ensure_ascii=False)}" for name, values in answers_by_model.items()
    )
    (DATA / "answers.json").write_text("{" + lines + "}\n", encoding="utf-8")
