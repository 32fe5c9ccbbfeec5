"""Training that goes on from another model: its weights, its vocabulary, its shape."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from model.config import ConfigError
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import load_config, load_model
from model.training.recipe import parse_recipe
from model.training.train import Training
from tests.model.runs import SAMPLE, tiny


def test_training_may_begin_with_another_models_weights_and_vocabulary(trained: Path, tmp_path: Path) -> None:
    """A window put on a trained model: the weights fit any order."""
    recipe = tiny(10, evaluate_every=10, warmup_steps=1000, precision="fp32")
    recipe = dataclasses.replace(recipe, start=str(trained), model=dataclasses.replace(recipe.model, ngram=2))
    run = Training(recipe, SAMPLE, tmp_path / "next")
    start = load_model(trained).state_dict()
    assert all(torch.equal(start[name], tensor) for name, tensor in run.translator.state_dict().items())
    run.run()
    vocabularies = [folder / "vocabulary.model" for folder in (trained, tmp_path / "next")]
    assert vocabularies[0].read_bytes() == vocabularies[1].read_bytes()
    summary = json.loads((tmp_path / "next" / "training.json").read_text(encoding="utf-8"))
    assert summary["recipe"]["start"] == str(trained)


def test_a_recipe_with_a_start_has_only_differences(trained: Path) -> None:
    data = {"source": "en", "target": "de", "corpora": {}, "dev": {}}
    values = {"name": "on", "start": str(trained), "data": data, "training": {"steps": 1}}
    there = load_config(trained)
    assert there.vocab_size == 480
    assert parse_recipe(values).model == there
    assert parse_recipe({**values, "model": {"ngram": 2}}).model == dataclasses.replace(there, ngram=2)
    anew = parse_recipe({**values, "data": {**data, "vocab_anew": True, "vocab_size": 600}})
    assert anew.model == dataclasses.replace(there, vocab_size=600)
    with pytest.raises(ConfigError, match="'nowhere' is neither a checkpoint folder nor a model in"):
        parse_recipe({**values, "start": "nowhere"})
    assert parse_recipe({**values, "start": "nowhere", "model": {"d_model": 64}}).model.d_model == 64


def test_parts_of_a_start_may_have_random_weights(trained: Path, tmp_path: Path) -> None:
    recipe = tiny(10, evaluate_every=10, precision="fp32")
    recipe = dataclasses.replace(recipe, start=str(trained), anew=("decoder",))
    run = Training(recipe, SAMPLE, tmp_path / "anew")
    old, new = load_model(trained).state_dict(), run.translator.state_dict()
    matrices = [name for name in old if old[name].dim() == 2]
    assert {name for name in matrices if not torch.equal(old[name], new[name])} == {
        name for name in matrices if name.startswith("decoder.")
    }
    full = dataclasses.replace(recipe.model, ngram=None)
    other = Training(dataclasses.replace(recipe, model=full), SAMPLE, tmp_path / "full").translator.state_dict()
    assert all(torch.equal(new[name], other[name]) for name in new)  # both runs begin with the same decoder
    with pytest.raises(ConfigError, match="unknown key 'decodr' in the recipe's 'anew': did you mean 'decoder'"):
        Training(dataclasses.replace(recipe, anew=("decodr",)), SAMPLE, tmp_path / "other")


def test_a_start_without_weights_says_where_they_are(tmp_path: Path) -> None:
    recipe = dataclasses.replace(tiny(10, evaluate_every=10), start="de-en")  # bundled as an artifact alone
    with pytest.raises(ConfigError, match=r"its weights are missing: .* \(ringmt unpack ARTIFACT de-en\)"):
        Training(recipe, SAMPLE, tmp_path)


def test_a_start_can_take_a_vocabulary_of_its_own(trained: Path, tmp_path: Path) -> None:
    recipe = tiny(10, evaluate_every=10, precision="fp32")
    data = dataclasses.replace(recipe.data, vocab_anew=True, vocab_kind="bpe")
    run = Training(dataclasses.replace(recipe, start=str(trained), data=data), SAMPLE, tmp_path)
    old, new = (Vocabulary(folder / "vocabulary.model") for folder in (trained, tmp_path))
    pieces = new.pieces(list(range(len(new))))
    rows = {piece: index for index, piece in enumerate(old.pieces(list(range(len(old)))))}
    before, after = load_model(trained).state_dict(), run.translator.state_dict()
    kept = [piece for piece in pieces if piece in rows]
    cut = next(piece for piece in pieces if piece not in rows and piece.startswith("▁") and len(piece) > 3)
    assert len(kept) > 260  # what is not a word: special pieces, bytes, letters
    for piece in kept:
        row = after["embedding.weight"][pieces.index(piece)]
        assert torch.equal(row, before["embedding.weight"][rows[piece]])
    parts = old.encode([cut[1:]])[0]
    assert len(parts) > 1
    mean = before["embedding.weight"][parts].mean(0)
    torch.testing.assert_close(after["embedding.weight"][pieces.index(cut)], mean)
    assert all(torch.equal(before[name], after[name]) for name in before if name != "embedding.weight")
    run.run()
    shape = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert shape["vocab_size"] == len(old) == len(new)


def test_a_start_of_another_shape_is_refused(trained: Path, tmp_path: Path) -> None:
    recipe = tiny(10)
    wider = dataclasses.replace(recipe.model, ffn_dim=2 * recipe.model.ffn_dim)
    with pytest.raises(ConfigError, match="another shape"):
        Training(dataclasses.replace(recipe, start=str(trained), model=wider), SAMPLE, tmp_path)
    with pytest.raises(ConfigError, match="neither a checkpoint folder nor a model"):
        Training(dataclasses.replace(recipe, start="no-such-model"), SAMPLE, tmp_path / "other")
