"""Builds the attention that the configuration names for one place of the model.

A kind of attention is a file of model/attention/kinds. Its function `build` makes either a whole attention or a term
that is added to plain attention, or in a decoder a cell in place of attention.
"""

from collections.abc import Callable
from importlib import import_module

from model.attention.kinds.relative import RelativePositions
from model.attention.multi_head import MultiHeadAttention
from model.attention.recurrent import RecurrentCell
from model.attention.terms import AttentionTerm, TermedAttention
from model.config import AttentionConfig, ConfigError, ModelConfig, Site

Build = Callable[[ModelConfig, AttentionConfig], MultiHeadAttention | AttentionTerm | RecurrentCell]
SelfAttention = MultiHeadAttention | RecurrentCell
"""What a decoder's layer has for its past."""


def build_attention(config: ModelConfig, site: Site, number: int) -> MultiHeadAttention:
    """The attention of layer `number`, counted from 1, of the encoder, of the decoder, or between the two. Raises
    ConfigError for a kind that is no attention."""
    built = build_self_attention(config, number, site)
    if not isinstance(built, MultiHeadAttention):
        raise ConfigError(f"{site}_attention: kind '{config.attention(site)[0].kind}' is no attention")
    return built


def build_self_attention(config: ModelConfig, number: int, site: Site = "decoder") -> SelfAttention:
    """`build_attention`, or the cell of a decoder's layer."""
    attention, layers = config.attention(site)
    shape = config.d_model, config.num_heads
    terms: dict[str, AttentionTerm] = {}  # parameters carry these names
    if attention.relative:
        terms["relative"] = RelativePositions(config.head_dim)
    if attention.kind != "plain" and number in attention.layer_numbers(layers):
        build: Build = import_module(f"model.attention.kinds.{attention.kind}").build
        built = build(config, attention)
        if isinstance(built, SelfAttention):
            return built
        terms[attention.kind] = built
    return TermedAttention(*shape, terms) if terms else MultiHeadAttention(*shape)
