"""The decoder-only language model: causal, N-gram masked, and trained by the same code as translation."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from model.attention.kinds.window import AdditiveWindow, MultiplicativeWindow
from model.config import BOS_ID, ConfigError, ModelConfig
from model.language_model import LanguageModel
from model.training.bundled import find_recipe
from model.training.checkpoint import load_model, new_model
from model.training.train import train
from model.translation_model import TranslationModel
from tests.models import tiny_config

SAMPLE = Path(__file__).parent.parent / "sample"
ROWS: dict[str, dict[str, Any]] = {
    "base": {},
    "relative": {"decoder_attention": {"relative": True}},
    "localness": {"decoder_attention": {"kind": "localness"}},
    "window-mw": {"decoder_attention": {"kind": "window", "window_mode": "multiplicative"}},
    "window-aw": {"decoder_attention": {"kind": "window"}},
}


def language_config(**changes: Any) -> ModelConfig:
    return tiny_config(**({"encoder_layers": 0, "ngram": None} | changes))


@pytest.mark.parametrize(("order", "field"), [(None, 10), (3, 1 + 2 * 1)])
@pytest.mark.parametrize("row", ROWS)
def test_a_token_sees_its_past_only(row: str, order: int | None, field: int) -> None:
    torch.manual_seed(0)
    model = LanguageModel(language_config(ngram=order, **ROWS[row])).double().eval()
    target = torch.randint(4, 320, (1, 10))
    target[:, 0] = BOS_ID
    base = model(target)[0]
    for changed_at in range(10):
        changed = target.clone()
        changed[0, changed_at] = 7 if target[0, changed_at] != 7 else 8
        differs = (model(changed)[0] - base).abs().amax(dim=-1) > 1e-9
        assert differs.tolist() == [changed_at <= i < changed_at + field for i in range(10)]


def test_windows_stand_in_the_lower_layers() -> None:
    model = new_model(language_config(decoder_layers=6, **ROWS["window-mw"]))
    assert isinstance(model, LanguageModel)
    attentions = [layer.get_submodule("self_attention") for layer in model.layers]
    assert [isinstance(attention, MultiplicativeWindow) for attention in attentions] == [True] * 3 + [False] * 3
    lower = new_model(language_config(**ROWS["window-aw"])).get_submodule("layers.0.self_attention")
    assert isinstance(lower, AdditiveWindow)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder_attention": {"relative": True}}, "encoder_attention: a language model .* has no encoder"),
        ({"cross_attention": {"kind": "window"}}, "cross_attention: a language model .* has no source"),
        ({"decoder_attention": {"kind": "window", "segment": 5}}, "decoder_attention: segment is not possible"),
        ({"encoder_layers": -1}, "encoder_layers must be at least 1, or 0 for a language model"),
    ],
)
def test_options_of_translation_models_are_refused_for_language_models(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        language_config(**changes)


def test_neither_model_is_built_from_the_others_configuration() -> None:
    with pytest.raises(ConfigError, match="encoder_layers must be 0, not 2"):
        LanguageModel(tiny_config())
    with pytest.raises(ConfigError, match="translates nothing"):
        TranslationModel(language_config())


def test_the_rows_of_the_paper() -> None:
    variants = [find_recipe(f"language/{row}").model.variant for row in ("base", "relative", "window-mw", "window-aw")]
    assert variants == ["LM plain full", "LM Dec(Rel) full", "LM Dec(MW) full", "LM Dec(AW) full"]


def test_it_learns_one_side_of_a_corpus(tmp_path: Path) -> None:
    recipe = find_recipe("tiny")
    recipe = dataclasses.replace(
        recipe,
        model=dataclasses.replace(
            find_recipe("language/window-mw").model, vocab_size=480, d_model=32, ffn_dim=64, decoder_layers=2
        ),
        data=dataclasses.replace(recipe.data, source="de"),
        training=dataclasses.replace(recipe.training, steps=20),
    )
    train(recipe, SAMPLE, tmp_path)
    with (tmp_path / "metrics.csv").open(newline="", encoding="utf-8") as file:
        scores = [float(row["nll tatoeba-dev"]) for row in csv.DictReader(file)]
    assert scores[-1] < scores[0]
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["encoder_layers"] == 0
    with pytest.raises(ConfigError, match="translates nothing"):
        load_model(tmp_path)
