"""Configurations of attention: which are refused and why, which layers are meant, how they are saved and named."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from model.attention.kinds.window import AdditiveWindow, MultiplicativeWindow
from model.attention.multi_head import MultiHeadAttention
from model.attention.terms import TermedAttention
from model.config import KINDS, AttentionConfig, ConfigError, ModelConfig
from model.training.checkpoint import load_model, save_model
from model.translation_model import TranslationModel
from tests.models import tiny_config
from tests.variants import VARIANTS, variant_config

ZOO = Path(__file__).parents[3] / "model" / "zoo"
WINDOW = {"kind": "window"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cross_attention": {"relative": True}}, "cross_attention: relative is not possible"),
        ({"cross_attention": {"kind": "localness", "relative": True}}, "cross_attention: relative is not possible"),
        ({"decoder_attention": {**WINDOW, "segment": 5}}, "decoder_attention: segment is not possible"),
        ({"encoder_attention": {**WINDOW, "relative": True}}, "a window has no relative positions"),
        ({"decoder_attention": {**WINDOW, "relative": True}}, "a window has no relative positions"),
        ({"encoder_attention": {"segment": 5}}, "segment has no meaning for kind 'plain'.*choose 'window'"),
        ({"encoder_attention": {"kind": "localness", "segment": 5}}, "segment has no meaning for kind 'localness'"),
        ({"encoder_attention": {"layers": "full"}}, "layers has no meaning for kind 'plain'"),
        ({"encoder_attention": {**WINDOW, "gauss_window": "head"}}, "gauss_window has no meaning for kind 'window'"),
        ({"encoder_attention": {**WINDOW, "window_renorm": True}}, "additive weights sum to one already"),
        ({"encoder_attention": {**WINDOW, "segment": 0}}, "segment must be a number of keys, at least 1"),
        ({"encoder_attention": {"kind": "windw"}}, f"kind must be {' or '.join(map(repr, KINDS))}, not 'windw'"),
        ({"encoder_attention": {"gauss_window": "all"}}, "gauss_window must be"),
        ({"encoder_attention": {**WINDOW, "window_mode": "mw"}}, "window_mode must be 'multiplicative' or"),
        (
            {"encoder_attention": {**WINDOW, "layers": "upper"}},
            "layers must be 'lower', 'full' or a list .* not 'upper'",
        ),
        (
            {"encoder_attention": {**WINDOW, "layers": []}},
            "layers must be 'lower', 'full' or a list of different numbers",
        ),
        (
            {"encoder_attention": {**WINDOW, "layers": [0, 1]}},
            "layers must be 'lower', 'full' or a list of different numbers",
        ),
        (
            {"encoder_attention": {**WINDOW, "layers": [1, 1]}},
            "layers must be 'lower', 'full' or a list of different numbers",
        ),
        ({"encoder_attention": {**WINDOW, "layers": 3}}, "encoder_attention: layers must be .* not 3"),
        ({"encoder_attention": {**WINDOW, "layers": ["1"]}}, "encoder_attention: layers must be"),
        ({"encoder_attention": {"relative": "no"}}, "relative must be true or false, not 'no'"),
        ({"encoder_attention": {**WINDOW, "layers": [3]}}, r"layers \[3\] go beyond the 2 layers"),
        ({"cross_attention": {"knd": "window"}}, "unknown key 'knd' in cross_attention: did you mean 'kind'"),
        ({"cross_attention": "window"}, "cross_attention must be a section"),
        ({"cros_attention": {}}, "unknown key 'cros_attention' in the model configuration: did you mean 'cross_att"),
    ],
)
def test_impossible_configurations_are_refused_with_the_reason(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_config(**changes)


@pytest.mark.parametrize(
    ("layers", "depth", "numbers"),
    [
        ("lower", 6, (1, 2, 3)),
        ("lower", 4, (1, 2)),
        ("lower", 3, (1, 2)),
        ("lower", 2, (1,)),
        ("lower", 1, (1,)),
        ("lower", 12, (1, 2, 3)),
        ("full", 4, (1, 2, 3, 4)),
        ((4, 6), 6, (4, 6)),
    ],
)
def test_which_layers_are_meant(layers: Any, depth: int, numbers: tuple[int, ...]) -> None:
    assert AttentionConfig(kind="localness", layers=layers).layer_numbers(depth) == numbers


def test_every_layer_gets_its_attention() -> None:
    model = TranslationModel(
        tiny_config(
            encoder_layers=3,
            encoder_attention={"kind": "localness", "layers": [2, 3], "relative": True},
            decoder_attention={"kind": "window", "window_mode": "multiplicative"},
            cross_attention={"kind": "window", "segment": 5, "layers": "full"},
        )
    )
    first, second, third = (layer.get_submodule("self_attention") for layer in model.encoder.layers)
    assert isinstance(first, TermedAttention)
    assert list(first.terms) == ["relative"]
    for attention in (second, third):
        assert isinstance(attention, TermedAttention)
        assert list(attention.terms) == ["relative", "localness"]
    lower, upper = model.decoder.decoder_layers()
    assert isinstance(lower.self_attention, MultiplicativeWindow)
    assert type(upper.self_attention) is MultiHeadAttention
    for layer in (lower, upper):
        assert isinstance(layer.cross_attention, AdditiveWindow)
        assert layer.cross_attention.segment == 5
    assert [len(ring) for ring in model.empty_rings(1)] == [4, 2]


@pytest.mark.parametrize("name", VARIANTS)
def test_a_configuration_survives_json_and_a_checkpoint(name: str, tmp_path: Path) -> None:
    config = variant_config(name)
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    torch.manual_seed(0)
    model = TranslationModel(config).eval()
    save_model(dict(model.named_parameters()), config, tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.config == config
    source, target = torch.randint(4, 320, (2, 5)), torch.randint(4, 320, (2, 6))
    keep = torch.ones_like(source, dtype=torch.bool)
    assert torch.equal(loaded(source, keep, target), model(source, keep, target))


def test_layer_numbers_survive_json() -> None:
    config = tiny_config(encoder_layers=6, encoder_attention={"kind": "localness", "layers": [4, 5, 6]})
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_a_configuration_saved_before_there_were_variants_is_plain() -> None:
    values = tiny_config().to_dict()
    older = {key: value for key, value in values.items() if not key.endswith("_attention")}
    assert ModelConfig.from_dict(older) == tiny_config()
    for path in ZOO.glob("*/config.json"):
        assert ModelConfig.from_dict(json.loads(path.read_text(encoding="utf-8"))).is_plain


def test_plain_models_have_the_parameters_they_always_had() -> None:
    """Names and order: a seed gives the weights that it always gave."""
    names = [name for name in dict(TranslationModel(tiny_config()).named_parameters()) if ".0." in name]
    attention = [f"{part}.{kind}" for part in ("query", "memory", "output") for kind in ("weight", "bias")]
    norm, ffn = ["weight", "bias"], ["expand.weight", "expand.bias", "contract.weight", "contract.bias"]
    encoder = (
        [f"self_norm.{n}" for n in norm] + [f"self_attention.{n}" for n in attention]
        + [f"ffn_norm.{n}" for n in norm] + [f"ffn.{n}" for n in ffn]
    )  # fmt: skip
    cross = [f"cross_norm.{n}" for n in norm] + [f"cross_attention.{n}" for n in attention]
    assert names == [
        *(f"encoder.layers.0.{name}" for name in encoder),
        *(f"decoder.layers.0.{name}" for name in encoder[:8] + cross + encoder[8:]),
    ]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"ngram": 8}, "plain N=8"),
        ({"ngram": None}, "plain full"),
        (
            {
                "ngram": 8,
                "encoder_attention": WINDOW,
                "cross_attention": {**WINDOW, "segment": 5},
                "decoder_attention": {**WINDOW, "window_mode": "multiplicative"},
            },
            "Enc(AW)-Cr(AW,Seg)-Dec(MW) N=8",
        ),
        (
            {"encoder_attention": {"kind": "localness", "layers": "full", "relative": True}},
            "Enc(Gauss query,full,Rel) N=4",
        ),
        ({"encoder_attention": {"kind": "localness", "gauss_coords": "thumt"}}, "Enc(Gauss query,thumt) N=4"),
        ({"decoder_attention": {"kind": "localness", "layers": [1, 2]}}, "Dec(Gauss query,L1+2) N=4"),
        ({"decoder_attention": {"relative": True}}, "Dec(Rel) N=4"),
    ],
)
def test_a_variant_has_a_short_name(changes: dict[str, Any], name: str) -> None:
    config = tiny_config(**changes)
    assert config.variant == name
    assert config.is_plain == name.startswith("plain")
