"""From a recipe to a checkpoint, on a small sample."""

import argparse
import csv
import dataclasses
import itertools
import json
import math
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from model.config import ConfigError
from model.data.vocabulary import Vocabulary
from model.training.bundled import bundled_recipes, find_recipe
from model.training.checkpoint import average_weights, load_config, load_model, save_weights
from model.training.commands import train_command
from model.training.document_recipe import load_any_recipe
from model.training.loss import projected_cross_entropy
from model.training.optimizer import MasterOptimizer
from model.training.recipe import RECIPES, Recipe, load_row, parse_recipe, read_yaml, rows_file
from model.training.schedule import learning_rate
from model.training.train import Training, train
from model.translation_model import TranslationModel
from tests.models import tiny_config

SAMPLE = Path(__file__).parent.parent / "sample"


def tiny(steps: int = 20, **changes: object) -> Recipe:
    recipe = load_any_recipe(RECIPES / "tiny.yaml")
    training = dataclasses.replace(recipe.training, steps=steps, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(recipe, training=training)


def metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(newline="", encoding="utf-8") as file:
        return [{key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "straight"
    train(tiny(20), SAMPLE, folder)
    return folder


def test_training_learns_and_leaves_a_checkpoint(trained: Path) -> None:
    rows = metrics(trained)
    assert [row["step"] for row in rows] == ["10", "20"]
    uniform = math.log(480)
    assert float(rows[1]["nll tatoeba-dev"]) < min(uniform, float(rows[0]["nll tatoeba-dev"]))
    model = load_model(trained)
    assert model.config == load_any_recipe(RECIPES / "tiny.yaml").model
    assert (trained / "metrics.png").read_bytes().startswith(b"\x89PNG")
    assert '"data_sha256"' in (trained / "training.json").read_text(encoding="utf-8")


class Stopped(Training):
    """A run that ends at its first evaluation."""

    def evaluate(self, train_nll: float) -> bool:
        super().evaluate(train_nll)
        return False


def test_a_run_that_was_stopped_goes_on_with_the_same_curve(trained: Path, tmp_path: Path) -> None:
    Stopped(tiny(20), SAMPLE, tmp_path).run()
    assert len(metrics(tmp_path)) == 1
    train(tiny(20), SAMPLE, tmp_path)
    assert metrics(tmp_path) == metrics(trained)
    ours, theirs = load_file(tmp_path / "weights.safetensors"), load_file(trained / "weights.safetensors")
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_killed_process_goes_on_too(trained: Path, tmp_path: Path) -> None:
    """SIGKILL at an arbitrary moment after the first checkpoint."""
    command = [
        sys.executable,
        "-m",
        "server.cli",
        "train",
        "--recipe",
        "tiny",
        "--data",
        str(SAMPLE),
        "--out",
        str(tmp_path),
    ]
    process = subprocess.Popen([*command, "--steps", "100000", "--threads", "1"], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "training-state.pt").exists():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stderr:
        process.stderr.close()
    before = metrics(tmp_path)
    steps = 10 * (len(before) + 1)
    assert (
        subprocess.run([*command, "--steps", str(steps), "--threads", "1"], check=False, capture_output=True).returncode
        == 0
    )
    after = metrics(tmp_path)
    assert after[: len(before)] == before
    assert after[-1]["step"] == str(steps)


def test_training_stops_early_when_dev_gets_no_better(tmp_path: Path) -> None:
    train(tiny(100, evaluate_every=2, patience=2, adam_rate=0.0, muon_rate=None), SAMPLE, tmp_path)
    assert [row["step"] for row in metrics(tmp_path)] == ["2", "4", "6"]


def test_every_recipe_is_readable() -> None:
    names = bundled_recipes()
    assert {"en-de", "en-de-long", "small", "tiny"} <= set(names)
    for name in names:
        recipe = find_recipe(name)
        assert recipe.name == name
        assert (RECIPES / f"{name}.yaml").read_text(encoding="utf-8").startswith("#")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"name": "x"}, "lacks the section 'model'"),
        ({"name": "x", "modle": {}}, "unknown key 'modle' in the recipe: did you mean 'model'"),
        ({"name": "x", "model": {}, "data": {"source": "en"}, "training": {"steps": 1}}, "lacks 'target'"),
        (
            {
                "name": "x",
                "anew": ["decoder"],
                "model": {},
                "data": {"source": "en", "target": "de", "corpora": {}, "dev": {}},
                "training": {"steps": 1},
            },
            "lists parts that do not begin as in the recipe's 'start'",
        ),
        (
            {
                "name": "x",
                "model": {},
                "data": {"source": "en", "target": "de", "corpora": {}, "dev": {}, "drawn": 50},
                "training": {"steps": 1},
            },
            "drawn must be a share from 0 to 1, not 50",
        ),
        (
            {
                "name": "x",
                "model": {},
                "data": {"source": "en", "target": "de", "corpora": {}, "dev": {}},
                "training": {"steps": 1, "sorted_by": "source"},
            },
            "sorted_by must be 'target' or 'longest', not 'source'",
        ),
        ([], "YAML mapping"),
    ],
)
def test_a_recipe_that_cannot_be_used_says_why(values: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_recipe(values)


def test_every_row_is_readable_and_changes_the_model_only() -> None:
    base, seen = find_recipe("small"), []
    rows = read_yaml(rows_file(RECIPES / "small.yaml"))
    assert {"n2", "relative", "localness-head", "window-mw-dec-full", "window-all-n8"} <= set(rows)
    for row in rows:
        recipe = find_recipe(f"small/{row}")
        assert dataclasses.replace(recipe, name=base.name, model=base.model) == base
        assert recipe.name == f"small/{row}"
        seen.append(recipe.model)
    assert find_recipe("small/full").model == base.model
    assert find_recipe("small/window-all").model.variant == "Enc(AW)-Cr(AW,Seg)-Dec(MW) full"
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("name", "message"),
    [("small/window-al", "unknown key 'window-al' in the rows of small: did you mean 'window-all'"),
     ("tiny/n2", "the recipe tiny has no rows: there is no tiny-rows.yaml")],
)  # fmt: skip
def test_a_row_that_does_not_exist_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_recipe(name)


def test_a_row_that_cannot_be_used_says_where(tmp_path: Path) -> None:
    base = tmp_path / "small.yaml"
    base.write_text((RECIPES / "small.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    rows_file(base).write_text("bad: {ngrm: 3}\nworse: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"small-rows\.yaml, row bad: unknown key 'ngrm'"):
        load_row(base, "bad")
    with pytest.raises(ConfigError, match="a row must be a mapping of keys"):
        load_row(base, "worse")


def test_a_recipe_like_another_says_only_what_it_changes(tmp_path: Path) -> None:
    """Sections are changed key by key, and a key as a whole: other corpora are in place of those there."""
    small, longer = find_recipe("small"), find_recipe("longer/n3")
    training = dataclasses.replace(small.training, steps=3200, evaluate_every=400)
    model = dataclasses.replace(small.model, ngram=3)
    assert longer == dataclasses.replace(small, name="longer/n3", training=training, model=model)
    own = tmp_path / "own.yaml"
    own.write_text("{name: own, like: small, data: {corpora: {mine: 2}}}", encoding="utf-8")
    data = dataclasses.replace(small.data, corpora={"mine": 2})
    assert load_any_recipe(own) == dataclasses.replace(small, name="own", data=data)
    (tmp_path / "small.yaml").write_text((RECIPES / "tiny.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    assert load_any_recipe(own).model == find_recipe("tiny").model  # one beside it comes first


def test_a_document_recipe_may_be_like_another(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("{name: own, like: documents, training: {steps: 7}}", encoding="utf-8")
    documents, own = find_recipe("documents"), load_any_recipe(tmp_path / "own.yaml")
    training = dataclasses.replace(documents.training, steps=7)
    assert own == dataclasses.replace(documents, name="own", training=training)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{name: own, like: smal}", r"own.yaml: there is no recipe 'smal' to be like, neither beside it nor"),
     ("{name: own, like: own}", r"own.yaml: 'like' must name a recipe that says everything itself, which .*own.yaml"),
     ("{name: own, like: longer}", r"own.yaml: 'like' must name a recipe that says everything itself, .*longer.yaml"),
     ("{like: small}", "own.yaml: the recipe lacks the section 'name'"),
     ("{name: own, like: small, training: 3}", "own.yaml: the recipe's training section must be"),
     ("{name: own, like: [", "own.yaml: while parsing"),
     ("{name: own, like: small, data: {corpra: {}}}", "own.yaml: .*'corpra'.*did you mean 'corpora'")],
)  # fmt: skip
def test_a_recipe_that_is_like_none_says_why(text: str, message: str, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_any_recipe(own)


def test_an_unknown_recipe_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'tiny'"):
        find_recipe("tinny")


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_fused_loss_is_cross_entropy_with_its_gradients(smoothing: float) -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(600, 16, requires_grad=True), torch.randn(40, 16, requires_grad=True)
    target = torch.randint(0, 40, (600,))
    loss, nll = projected_cross_entropy(hidden, weight, target, smoothing)
    ours = torch.autograd.grad(loss, (hidden, weight))
    logits = hidden @ weight.T
    plain = torch.nn.functional.cross_entropy(logits, target, label_smoothing=smoothing, reduction="sum")
    theirs = torch.autograd.grad(plain, (hidden, weight))
    torch.testing.assert_close(loss, plain, rtol=1e-5, atol=1e-3)
    torch.testing.assert_close(
        nll, torch.nn.functional.cross_entropy(logits, target, reduction="sum"), rtol=1e-5, atol=1e-3
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_the_rate_warms_up_falls_and_ends_at_zero() -> None:
    rates = [learning_rate(step, 1.0, 10, 100, 0.2) for step in range(1, 101)]
    assert rates[4] == pytest.approx(0.5)
    assert max(rates) == rates[9] == 1.0
    assert rates[39] == pytest.approx((10 / 40) ** 0.5)
    assert all(later < earlier for earlier, later in itertools.pairwise(rates[9:]))
    assert rates[-1] < 0.03


def test_the_optimizer_owns_fp32_masters_of_bf16_weights() -> None:
    model = TranslationModel(tiny_config()).bfloat16()
    optimizer = MasterOptimizer(model, 0.0, use_muon=True)
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    assert optimizer.step((1e-2, 1e-2), max_norm=1.0) > 1
    for (name, parameter), master in zip(model.named_parameters(), optimizer.master_weights(), strict=True):
        assert master.dtype == torch.float32
        assert torch.equal(parameter, master.bfloat16())
        assert not torch.equal(parameter, before[name])


def test_rates_can_be_scaled_by_name() -> None:
    """What a parameter moves is proportional to its rate, for matrices (Muon) and for the rest (Adam)."""
    moved = {}
    for scale in (1.0, 0.25):
        torch.manual_seed(1)
        model = TranslationModel(tiny_config())
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        optimizer = MasterOptimizer(model, 0.0, True, lambda name, scale=scale: scale if "encoder" in name else 1.0)  # type: ignore[misc]
        for parameter in model.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step((1e-3, 1e-3), max_norm=1.0)
        moved[scale] = {name: (parameter - before[name]).norm().item() for name, parameter in model.named_parameters()}
    for name, full in moved[1.0].items():
        assert moved[0.25][name] == pytest.approx(full * (0.25 if "encoder" in name else 1.0), rel=1e-3), name


def test_a_run_that_was_saved_before_rates_could_be_scaled_goes_on() -> None:
    model = TranslationModel(tiny_config())
    optimizer = MasterOptimizer(model, 0.0, use_muon=True)
    state = optimizer.state_dict()
    for saved in state["optimizers"]:
        for group in saved["param_groups"]:
            del group["scale"]
    optimizer.load_state_dict(state)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    before = model.embedding.weight.detach().clone()
    optimizer.step((1e-3, 1e-3), max_norm=1.0)
    assert not torch.equal(model.embedding.weight, before)


def test_another_seed_is_another_run_of_the_same_recipe(trained: Path, tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    train_command.add_arguments(parser)
    given = ["--recipe", "tiny", "--data", str(SAMPLE), "--out", str(tmp_path), "--steps", "2", "--seed", "3"]
    train_command.run(parser.parse_args([*given, "--threads", "1"]))
    recipe = json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))["recipe"]
    assert (recipe["training"]["seed"], recipe["training"]["steps"]) == (3, 2)
    first, other = (load_file(folder / "weights.safetensors") for folder in (trained, tmp_path))
    assert first.keys() == other.keys()
    assert not torch.equal(first["embedding.weight"], other["embedding.weight"])


def test_averaging_is_the_mean(tmp_path: Path) -> None:
    for index in range(3):
        save_weights({"a": torch.full((2,), float(index))}, tmp_path / f"{index}.safetensors")
    assert average_weights(sorted(tmp_path.glob("*.safetensors")))["a"].tolist() == [1.0, 1.0]


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


def test_a_recipe_with_a_start_says_only_what_differs(trained: Path) -> None:
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


def test_parts_of_a_start_may_begin_anew(trained: Path, tmp_path: Path) -> None:
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
    assert all(torch.equal(new[name], other[name]) for name in new)  # a twin begins with the same decoder
    with pytest.raises(ConfigError, match="unknown key 'decodr' in the recipe's 'anew': did you mean 'decoder'"):
        Training(dataclasses.replace(recipe, anew=("decodr",)), SAMPLE, tmp_path / "other")


def test_a_start_without_weights_says_where_they_are(tmp_path: Path) -> None:
    recipe = dataclasses.replace(tiny(10, evaluate_every=10), start="de-en")  # bundled as an artifact alone
    with pytest.raises(ConfigError, match=r"its weights are not there: .* \(ringmt unpack ARTIFACT de-en\)"):
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
