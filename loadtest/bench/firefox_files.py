"""Random models in Firefox's files: weights in intgemm8 with the multipliers of activations, a vocabulary, a shortlist.

The formats are those that `export/importers/marian_nmt` reads. The biases of EOS, UNK and all pieces that were learnt
are so low that no engine chooses them: translations consist of made-up words and end at the engine's limit of length.
"""

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import yaml
from numpy.typing import NDArray

from export.artifact_writer import ExportOptions, write_artifact
from export.commands import EXAMPLES, NUM_GOLDENS, lines
from export.importers.marian_nmt.container import CHARACTERS, CONFIG, FLOAT32, INTGEMM8
from export.importers.marian_nmt.files import find_firefox
from export.importers.marian_nmt.load import load_marian_nmt
from export.importers.marian_nmt.shortlist import HEADER, MAGIC, checksum_of
from export.importers.marian_vocabulary import PROTO, Piece
from model.config import ModelConfig

Array = NDArray[np.float32]
LANGUAGES = "ende"
NEVER = -100.0
"""The bias of what no translation has."""
ALPHA = np.float32(127 / 5)
"""The multiplier of activations: 5 becomes the largest level."""
LEARNED = 2000
"""Pieces of the vocabulary that are learnt from the examples; the others are made up, and no text has them."""
FREQUENT, LISTED = 50, 30
"""Words on every shortlist, and words that each source word lists."""


def write_firefox(config: ModelConfig, folder: Path) -> None:
    """model.ende.intgemm.alphas.bin, vocab.ende.spm and lex.50.50.ende.s2t.bin of a configuration as an import makes
    it, in which one word follows the model's own."""
    folder.mkdir(parents=True, exist_ok=True)
    words = config.vocab_size - 1
    vocabulary = folder / f"vocab.{LANGUAGES}.spm"
    write_vocabulary(words, vocabulary)
    write_shortlist(words, folder / f"lex.50.50.{LANGUAGES}.s2t.bin")
    arrays = dict(weights(config, words, first_made_up(vocabulary)))
    (folder / f"model.{LANGUAGES}.intgemm.alphas.bin").write_bytes(model_bytes(config, arrays))


def import_firefox(folder: Path, out: Path) -> None:
    """The artifact at int8 that `ringmt import firefox` makes of the folder."""
    examples = lines(EXAMPLES)
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = out.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    content = load_marian_nmt(find_firefox(folder), "de", scratch, None, 256, None)
    options = ExportOptions("en-de", ("en", "de"), calibration=examples, examples=examples[:NUM_GOLDENS])
    write_artifact(content, out, options)


def write_vocabulary(words: int, path: Path) -> None:
    """A SentencePiece model of `words` pieces as Marian's are: </s> 0, <unk> 1, no other special piece."""
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines(EXAMPLES)), model_writer=buffer, vocab_size=min(LEARNED, words // 2),
        hard_vocab_limit=False, eos_id=0, unk_id=1, bos_id=-1, pad_id=-1, minloglevel=2,
    )  # fmt: skip
    own: Any = PROTO.ModelProto()
    own.ParseFromString(buffer.getvalue())
    missing = range(len(own.pieces), words)
    own.pieces.extend([Piece(piece=made_up(index), score=0.0, type=Piece.NORMAL) for index in missing])
    own.trainer_spec.vocab_size = words
    path.write_bytes(own.SerializeToString())


def made_up(index: int) -> str:
    """The piece of a word that no text has."""
    return f"\N{LOWER ONE EIGHTH BLOCK}w{index:05d}"


def first_made_up(vocabulary: Path) -> int:
    """The lowest id of the pieces that were made up."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    return next(index for index in range(len(pieces)) if pieces.id_to_piece(index) == made_up(index))


def write_shortlist(words: int, path: Path) -> None:
    """Every source word lists some words, lower ids more often than higher ones, as frequent words are."""
    generator = np.random.default_rng(0)
    drawn = np.exp(generator.uniform(np.log(2), np.log(words), (words, LISTED))).astype(np.int64)
    lists = [np.unique(row) for row in drawn]
    ids = np.concatenate(lists).astype("<u4")
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype("<u8")
    ids = ids if len(ids) % 2 == 0 else np.append(ids, np.uint32(words - 1))  # the checksum is over whole u64
    offsets[-1] = len(ids)
    head = HEADER.pack(MAGIC, 0, FREQUENT, FREQUENT, len(offsets), len(ids))
    body = head[16:] + offsets.tobytes() + ids.tobytes()
    path.write_bytes(struct.pack("<QQ", MAGIC, checksum_of(body)) + body)


def weights(config: ModelConfig, words: int, first: int) -> Iterator[tuple[str, Array]]:
    """Random weights under Marian's names: matrices [in, out], biases [1, out]. `first`: of the words that are
    chosen."""
    generator = np.random.default_rng(0)
    width, hidden = config.d_model, config.ffn_dim

    def matrix(rows: int, columns: int, inputs: int) -> Array:
        return generator.normal(0, inputs**-0.5, (rows, columns)).astype(np.float32)

    def row(columns: int, mean: float = 0) -> Array:
        return generator.normal(mean, 0.1, (1, columns)).astype(np.float32)

    def norm(name: str) -> Iterator[tuple[str, Array]]:
        yield from ((f"{name}_ln_scale", row(width, 1)), (f"{name}_ln_bias", row(width)))

    def attention(name: str) -> Iterator[tuple[str, Array]]:
        for letter in "qkvo":
            yield from ((f"{name}_W{letter}", matrix(width, width, width)), (f"{name}_b{letter}", row(width)))
        yield from norm(f"{name}_Wo")

    yield "Wemb", matrix(words, width, width)
    bias = row(words)
    bias[0, :first] = NEVER
    yield "decoder_ff_logit_out_b", bias
    for side, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for index in range(1, count + 1):
            layer = f"{side}_l{index}"
            if side == "encoder":
                yield from attention(f"{layer}_self")
            else:
                yield from ((f"{layer}_rnn_Wf", matrix(width, width, width)), (f"{layer}_rnn_bf", row(width)))
                yield f"{layer}_rnn_W", matrix(width, width, width)
                yield from norm(f"{layer}_rnn_ffn")
                yield from attention(f"{layer}_context")
            yield from ((f"{layer}_ffn_W1", matrix(width, hidden, width)), (f"{layer}_ffn_b1", row(hidden)))
            yield from ((f"{layer}_ffn_W2", matrix(hidden, width, hidden)), (f"{layer}_ffn_b2", row(width)))
            yield from norm(f"{layer}_ffn_ffn")


def model_bytes(config: ModelConfig, arrays: dict[str, Array]) -> bytes:
    """A binary model, version 1: matrices as int8 and the multiplier of their levels, transposed but for Wemb, and a
    multiplier of activations for each; biases and norms as float32."""
    items = [(CONFIG, CHARACTERS, *described(config, len(arrays["Wemb"])))]
    for name in sorted(arrays):
        values = arrays[name]
        if len(values) == 1:
            items.append((name, FLOAT32, values.shape, values.tobytes()))
            continue
        multiplier = np.float32(127) / np.abs(values).max()
        levels = np.rint(values * multiplier).astype(np.int8)
        laid_out = levels if name == "Wemb" else np.ascontiguousarray(levels.T)
        items.append((name, INTGEMM8[0], values.shape, laid_out.tobytes() + multiplier.tobytes()))
        items.append((f"{name}_QuantMultA", FLOAT32, (1, 1), ALPHA.tobytes()))
    items.append(("none_QuantMultA", FLOAT32, (1, 1), ALPHA.tobytes()))
    padded = [(name, kind, shape, body + bytes(-len(body) % 256)) for name, kind, shape, body in items]
    out = struct.pack("<QQ", 1, len(padded))
    out += b"".join(
        struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(body)) for name, kind, shape, body in padded
    )
    out += b"".join(name.encode() + b"\0" for name, *_ in padded)
    out += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in padded)
    offset = 256 - (len(out) + 8) % 256
    return out + struct.pack("<Q", offset) + bytes(offset) + b"".join(body for *_, body in padded)


def described(config: ModelConfig, words: int) -> tuple[tuple[int, ...], bytes]:
    """Shape and bytes of the configuration."""
    values = {
        "type": "transformer", "dim-emb": config.d_model, "dim-vocabs": [words, words],
        "enc-depth": config.encoder_layers, "dec-depth": config.decoder_layers, "dec-cell": "ssru",
        "transformer-heads": config.num_heads, "transformer-dim-ffn": config.ffn_dim, "transformer-ffn-depth": 2,
        "transformer-ffn-activation": "relu", "transformer-decoder-autoreg": "rnn", "transformer-preprocess": "",
        "transformer-postprocess": "dan", "transformer-postprocess-emb": "d", "tied-embeddings-all": True,
        "transformer-guided-alignment-layer": "last", "version": "v1.9.0",
    }  # fmt: skip
    text = yaml.safe_dump(values).encode() + b"\0"
    return (len(text),), text
