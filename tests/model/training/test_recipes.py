"""Recipes: what can be said in them, rows, and what a recipe that cannot be used says."""

import dataclasses
import re
from pathlib import Path

import pytest

from model.config import ConfigError
from model.training.bundled import bundled_recipes, find_recipe
from model.training.document_recipe import load_any_recipe
from model.training.recipe import RECIPES, load_row, parse_recipe, read_yaml, rows_file


def test_every_recipe_is_readable() -> None:
    names = bundled_recipes()
    assert {"en-de", "en-de-long", "small", "tiny"} <= set(names)
    for name in names:
        recipe = find_recipe(name)
        assert recipe.name == name
        assert (RECIPES / f"{name}.yaml").read_text(encoding="utf-8").startswith("#")


def test_the_table_has_every_file_once_and_commands_that_are_understood() -> None:
    rows = re.findall(
        r"^\| (`.*?) \| `ringmt train --recipe (\S+) .*?` \|",
        (RECIPES / "README.md").read_text(encoding="utf-8"),
        flags=re.M,
    )
    named = [file for files, _ in rows for file in re.findall(r"`(.*?)`", files)]
    assert sorted(named) == sorted(path.name for path in RECIPES.glob("*.yaml"))
    for files, recipe in rows:
        assert find_recipe(recipe).name == recipe
        assert f"`{recipe.partition('/')[0]}.yaml`" in files


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


def test_a_recipe_like_another_has_only_differences(tmp_path: Path) -> None:
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
