"""The models of the benches: shapes with random weights that never end a sentence by themselves."""

import dataclasses

import numpy as np
import torch

from export.artifact_writer import default_shortlist
from export.onnx_graph.shortlist import ShortlistPlan
from model.config import EOS_ID, AttentionConfig, ModelConfig
from model.data.lexicon import Lexicon, smallest
from model.translation_model import TranslationModel

OPUS = ModelConfig(vocab_size=58101, d_model=512, ffn_dim=2048, encoder_layers=6, decoder_layers=6, max_length=512)
SSRU = AttentionConfig(kind="ssru", layers="full")
FIREFOX = ModelConfig(
    # 32,000 words and the one that decoding begins with, as an import has them.
    vocab_size=32001, d_model=256, ffn_dim=1536, encoder_layers=6, decoder_layers=2, ngram=None, max_length=256,
    decoder_attention=SSRU, norm="after", norm_epsilon=1e-6, positions="tensor2tensor", output_bias=True,
    pad_id=32000, unk_id=1, bos_id=32000, eos_id=0,
)  # fmt: skip
# "opus" has the vocabulary and the layers of an OPUS-MT model, "opus-mt" its norms, activation and bias, too; "large"
# has the layers and words of NLLB-200 with 600 million parameters; Firefox has three shapes.
SHAPES = {
    "small": ModelConfig(
        vocab_size=8000, d_model=256, ffn_dim=1024, encoder_layers=6, decoder_layers=3, max_length=512
    ),
    "base": ModelConfig(
        vocab_size=32000, d_model=512, ffn_dim=2048, encoder_layers=6, decoder_layers=6, max_length=512
    ),
    "opus": OPUS,
    "large": ModelConfig(
        vocab_size=256206,
        d_model=1024,
        num_heads=16,
        ffn_dim=4096,
        encoder_layers=12,
        decoder_layers=12,
        max_length=512,
    ),
    "tiny": ModelConfig(
        vocab_size=384, d_model=32, num_heads=2, ffn_dim=64, encoder_layers=2, decoder_layers=2, max_length=64
    ),
    "opus-mt": dataclasses.replace(OPUS, norm="after", activation="swish", output_bias=True),
    "firefox-tiny": FIREFOX,
    "firefox-base-memory": dataclasses.replace(FIREFOX, d_model=384, decoder_layers=4),
    "firefox-base": dataclasses.replace(FIREFOX, d_model=512, ffn_dim=2048),
    "firefox-small": dataclasses.replace(
        FIREFOX, vocab_size=1281, d_model=64, ffn_dim=64, encoder_layers=1, decoder_layers=1, pad_id=1280, bos_id=1280
    ),
}
IMPORTED = ("opus-mt", "large", "firefox-tiny", "firefox-base-memory", "firefox-base", "firefox-small")
"""Shapes that others train: with full attention, or without a ring."""


def shape(name: str, order: int | None) -> ModelConfig:
    """A shape with decoder order N, None for full attention; a shape without a ring has none."""
    config = SHAPES[name]
    return dataclasses.replace(config, ngram=order) if config.has_ring else config


def random_model(config: ModelConfig) -> TranslationModel:
    """Weights that depend on the configuration alone. EOS has a logit of zero, far below thousands of random others,
    so that searches run to their maximum length."""
    torch.manual_seed(0)
    model = TranslationModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
        model.embedding.weight[config.eos_id] = 0
        if model.embedding.output_bias is not None:
            model.embedding.output_bias[config.eos_id] = 0
    return model


def random_lexicon(vocab_size: int, translations: int = 8) -> Lexicon:
    """A lexicon of random translations with falling probabilities."""
    generator = np.random.default_rng(0)
    words = np.array([4 + generator.choice(vocab_size - 4, translations, replace=False) for _ in range(vocab_size)])
    probabilities = np.sort(generator.random(words.shape))[:, ::-1]
    by_frequency = np.array([EOS_ID, *generator.permutation(np.arange(4, vocab_size))])
    return Lexicon(smallest(words, vocab_size), probabilities.astype(np.float16), smallest(by_frequency, vocab_size))


def random_plan(vocab_size: int) -> ShortlistPlan:
    """A shortlist of the default size of exports; a small one for small vocabularies."""
    default = default_shortlist(vocab_size)
    sizes = default if vocab_size > sum(default) else (64, 64)
    return ShortlistPlan.of(random_lexicon(vocab_size), *sizes)
