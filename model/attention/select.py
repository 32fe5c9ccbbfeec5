"""The attention that a configuration asks for at one place of the model."""

from model.attention.localness import GaussianLocalness
from model.attention.multi_head import MultiHeadAttention
from model.attention.relative import RelativePositions
from model.attention.terms import AttentionTerm, TermedAttention
from model.attention.window import AdditiveWindow, MultiplicativeWindow
from model.config import AttentionConfig, ModelConfig, Site


def build_attention(config: ModelConfig, site: Site, number: int) -> MultiHeadAttention:
    """The attention of layer `number`, counted from 1, of the encoder, of the decoder, or between the two."""
    wanted, layers = config.attention(site)
    shape = config.d_model, config.num_heads
    kind = wanted.kind if number in wanted.layer_numbers(layers) else "plain"
    match kind, wanted.window_mode:
        case "window", "multiplicative":
            return MultiplicativeWindow(*shape, wanted.segment, wanted.window_renorm)
        case "window", _:
            return AdditiveWindow(*shape, wanted.segment)
    terms = attention_terms(config, wanted, kind)
    return TermedAttention(*shape, terms) if terms else MultiHeadAttention(*shape)


def attention_terms(config: ModelConfig, wanted: AttentionConfig, kind: str) -> dict[str, AttentionTerm]:
    """What is added to plain attention, by the name that its parameters carry."""
    terms: dict[str, AttentionTerm] = {}
    if wanted.relative:
        terms["relative"] = RelativePositions(config.head_dim)
    if kind == "localness":
        terms["localness"] = GaussianLocalness(
            config.d_model, config.num_heads, wanted.gauss_window, wanted.gauss_coords
        )
    return terms
