"""Tiny random MarianMT checkpoint folders for tests, whose translations vary and end."""

import io
import json
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece
import torch
import transformers  # imports a class, and most of torch with it, when it is named: not when tests are collected

from tests.models import SENTENCES

ENGLISH, GERMAN = SENTENCES[:8], SENTENCES[8:]
EOS, UNK = 0, 1
PIECES = 90
NOT_IN_VOCABULARY = 3
"""Pieces of every SentencePiece model that vocab.json does not list."""


@dataclass(frozen=True)
class Shape:
    """What differs between checkpoints. `separate` vocabularies need `shared` to be false."""

    shared: bool = True
    separate: bool = False
    activation: str = "swish"
    forced_eos: bool = True
    pickled: bool = False
    languages: tuple[str, ...] = ()
    scaled: bool = True
    eos_bonus: float = 4.0
    """Bonus of EOS in every logit, so that translations end, some early and some late."""
    layers: int = 2
    """Of the encoder, and of the decoder."""


def trained(sentences: tuple[str, ...]) -> bytes:
    """A SentencePiece model with the ids of Marian's models."""
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 4), model_writer=buffer, vocab_size=PIECES, hard_vocab_limit=False,
        unk_id=0, bos_id=1, eos_id=2, minloglevel=2,
    )  # fmt: skip
    return buffer.getvalue()


@cache
def spm(side: str) -> bytes:
    return trained(ENGLISH if side == "source" else GERMAN)


def pieces_of(side: str) -> list[str]:
    model = sentencepiece.SentencePieceProcessor(model_proto=spm(side))
    listed = [str(model.id_to_piece(index)) for index in range(3, len(model))]
    return listed[:-NOT_IN_VOCABULARY]


def numbered(pieces: set[str], languages: tuple[str, ...]) -> dict[str, int]:
    """The content of vocab.json: EOS first, then the unknown piece, padding last, other pieces sorted."""
    words = [*sorted(pieces), *(f">>{language}<<" for language in languages)]
    random.Random(1).shuffle(words)
    return {piece: index for index, piece in enumerate(["</s>", "<unk>", *words, "<pad>"])}


def write_marian(folder: Path, shape: Shape, seed: int = 0) -> Any:
    """Write a checkpoint; returns the model, in evaluation mode."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = [set(pieces_of(side)) for side in ("source", "target")]
    both = sides[0] | sides[1]
    source, target = (numbered(side if shape.separate else both, shape.languages) for side in sides)
    (folder / "vocab.json").write_text(json.dumps(source), encoding="utf-8")
    if shape.separate:
        (folder / "target_vocab.json").write_text(json.dumps(target), encoding="utf-8")
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(spm(side))
    tokenizer = {"source_lang": "en", "target_lang": "de", "separate_vocabs": shape.separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    model = random_marian(shape, len(source), len(target), seed)
    model.save_pretrained(folder)
    if shape.pickled:
        (folder / "model.safetensors").unlink()
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    return model


def random_marian(shape: Shape, source_size: int, target_size: int, seed: int) -> Any:
    pad = target_size - 1
    torch.manual_seed(seed)
    values: dict[str, Any] = {
        "vocab_size": source_size, "decoder_vocab_size": target_size, "d_model": 32,
        "encoder_layers": shape.layers, "decoder_layers": shape.layers, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
        "max_position_embeddings": 64, "activation_function": shape.activation,
        "scale_embedding": shape.scaled, "share_encoder_decoder_embeddings": shape.shared, "pad_token_id": pad,
        "decoder_start_token_id": pad, "eos_token_id": EOS, "init_std": 0.2,
        "forced_eos_token_id": EOS if shape.forced_eos else None,
    }  # fmt: skip
    model: Any = transformers.MarianMTModel(transformers.MarianConfig(**values))
    model.eval()
    model.generation_config.bad_words_ids = [[pad]]
    model.generation_config.num_beams = 4
    model.generation_config.max_length = 40
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("out_proj.weight", "fc2.weight")):
                parameter.mul_(4)
            elif "layer_norm" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
        last = model.model.decoder.layers[-1].final_layer_norm.weight
        last.copy_(2 * torch.randn_like(last))
        model.final_logits_bias.copy_(0.5 * torch.randn_like(model.final_logits_bias))
        model.final_logits_bias[0, EOS] += shape.eos_bonus
    return model
