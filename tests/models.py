"""Small models for tests: random weights, but translations that vary and end."""

from pathlib import Path

import torch

from export.artifact_writer import ExportOptions, export_artifact
from loadtest.bench.shapes import random_lexicon
from model.config import EOS_ID, ModelConfig
from model.data.lexicon import LEXICON
from model.data.vocabulary import train_vocabulary
from model.training.checkpoint import VOCABULARY, save_model
from model.translation_model import TranslationModel

SENTENCES = (
    "A house stands by the river.",
    "The old man reads a book every day.",
    "We walk home in the rain.",
    "Where is the station?",
    "She sells bread and milk.",
    "It is cold today, and it will be colder tomorrow.",
    "Yes.",
    "They gave the children some water.",
    "Das Haus steht am Fluss.",
    "Der alte Mann liest jeden Tag ein Buch.",
    "Wir gehen im Regen nach Hause.",
    "Wo ist der Bahnhof?",
)

EOS_BONUS = 5.0
"""Bonus of EOS in every logit of `lively_model`."""


def lively_model(config: ModelConfig, seed: int = 0) -> TranslationModel:
    """Random weights in evaluation mode, tuned so that translations vary and end: loud sub-layers and random gains in
    the last norm (or a model with tied embeddings repeats its last token for ever), and a bonus for EOS."""
    torch.manual_seed(seed)
    model = TranslationModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("output.weight", "contract.weight")):
                parameter.mul_(16)
            elif parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
        assert isinstance(model.decoder.norm, torch.nn.LayerNorm)
        model.decoder.norm.weight.copy_(2 * torch.randn(config.d_model))
        eos = model.embedding.weight[EOS_ID]
        model.decoder.norm.bias.add_(EOS_BONUS * eos / eos.norm() ** 2)
    return model


def tiny_config(**changes: object) -> ModelConfig:
    values: dict[str, object] = {
        "vocab_size": 320, "d_model": 32, "num_heads": 2, "ffn_dim": 64, "encoder_layers": 2, "decoder_layers": 2,
        "ngram": 4, "max_length": 64, "dropout": 0.0,
    }  # fmt: skip
    return ModelConfig.from_dict(values | changes)


def write_checkpoint(model: TranslationModel, folder: Path) -> Path:
    """A checkpoint folder of `model` with a lexicon and a vocabulary trained on SENTENCES; sizes must fit the model."""
    save_model(dict(model.named_parameters()), model.config, folder)
    add_vocabulary(model.config.vocab_size, folder)
    return folder


def add_vocabulary(size: int, folder: Path) -> None:
    """A vocabulary trained on SENTENCES, and a lexicon."""
    train_vocabulary(SENTENCES * 4, size, folder / VOCABULARY)
    random_lexicon(size).save(folder / LEXICON)


EVERY_KIND = (("onnx", "int8"), ("onnx", "fp32"), ("torchscript", "fp32"))


def write_artifact(
    model: TranslationModel, folder: Path, name: str = "tiny", graphs: tuple[tuple[str, str], ...] = EVERY_KIND
) -> Path:
    """An artifact with a shortlist, at folder/name."""
    options = ExportOptions(
        name=name,
        languages=("en", "de"),
        graphs=graphs,
        licence="CC0-1.0",
        shortlist=(64, 64),
        calibration=SENTENCES[:8],
        examples=SENTENCES[:4],
    )
    export_artifact(write_checkpoint(model, folder / f"{name}-checkpoint"), folder / name, options)
    return folder / name
