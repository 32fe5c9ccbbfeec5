"""Tiny random checkpoint folders of M2M-100 and NLLB-200 for tests, whose translations vary and end."""

import io
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers  # imports a class, and most of torch with it, when it is named: not when tests are collected

from tests.models import SENTENCES

PAD, EOS, UNK = 1, 2, 3
PIECES = 120
NOT_IN_VOCABULARY = 3
"""Pieces of the SentencePiece model that vocab.json does not list."""
NLLB_LANGUAGES = ("ace_Arab", "deu_Latn", "eng_Latn", "fra_Latn", "zho_Hans", "zho_Hant")
M2M_LANGUAGES = 100
MADE_UP = 8


@dataclass(frozen=True)
class Shape:
    """What differs between checkpoints. `nllb`: without vocab.json, with the ids of fairseq."""

    nllb: bool = False
    d_model: int = 16
    heads: int = 2
    ffn: int = 32
    encoder_layers: int = 2
    decoder_layers: int = 2
    scaled: bool = True
    activation: str = "relu"
    forced_eos: bool = False
    eos_bonus: float = 0.0
    """Added to the logit of EOS, so that translations end, some early and some late."""
    init_std: float | None = None
    """Standard deviation of the weights, which transformers draws with 0.02. None: larger ones, with which translations
    of narrow models vary. Their attention looks at one word, so that rounding to int8 changes what it looks at."""
    made_up: int = MADE_UP
    """Words behind the languages that no text has."""


@cache
def trained() -> bytes:
    """A SentencePiece model of type BPE."""
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 4), model_writer=buffer, vocab_size=PIECES, hard_vocab_limit=False,
        model_type="bpe", unk_id=0, bos_id=1, eos_id=2, pad_id=-1, minloglevel=2,
    )  # fmt: skip
    return buffer.getvalue()


def pieces() -> list[str]:
    model = sentencepiece.SentencePieceProcessor(model_proto=trained())
    return [model.id_to_piece(index) for index in range(3, len(model))]


def write_m2m100(folder: Path, shape: Shape, seed: int = 0) -> Any:
    """Write a checkpoint folder; returns the model."""
    folder.mkdir(parents=True)
    (folder / "sentencepiece.bpe.model").write_bytes(trained())
    words = ["<s>", "<pad>", "</s>", "<unk>", *pieces()]
    if shape.nllb:
        tokenizer = transformers.NllbTokenizer.from_pretrained(folder, extra_special_tokens=[*NLLB_LANGUAGES])
        tokenizer.save_pretrained(folder)
        size = len(tokenizer)
    else:
        words = words[:-NOT_IN_VOCABULARY]
        (folder / "vocab.json").write_text(json.dumps({word: index for index, word in enumerate(words)}))
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "M2M100Tokenizer"}))
        size = len(words) + M2M_LANGUAGES + shape.made_up
    torch.manual_seed(seed)
    config = transformers.M2M100Config(
        vocab_size=size, d_model=shape.d_model, encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers, encoder_attention_heads=shape.heads, decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.ffn, decoder_ffn_dim=shape.ffn, scale_embedding=shape.scaled,
        activation_function=shape.activation, max_position_embeddings=64, init_std=shape.init_std or 0.25,
        pad_token_id=PAD, bos_token_id=0, eos_token_id=EOS,
        decoder_start_token_id=EOS,
    )  # fmt: skip
    model = transformers.M2M100ForConditionalGeneration(config)
    model.train(False)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.2)
            elif shape.init_std is None and name.endswith(("fc1.weight", "fc2.weight", "_proj.weight")):
                parameter.mul_(4)  # or each step would say the word that it reads
        end = model.model.shared.weight[EOS]
        model.model.decoder.layer_norm.bias += shape.eos_bonus * end / end.square().sum()
    model.generation_config.forced_eos_token_id = EOS if shape.forced_eos else None
    model.save_pretrained(folder)
    return model


def tokenizer_of(folder: Path, source: str) -> Any:
    kind = transformers.M2M100Tokenizer if (folder / "vocab.json").is_file() else transformers.NllbTokenizer
    return kind.from_pretrained(folder, src_lang=source)
