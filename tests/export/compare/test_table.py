"""The tables compare only what is comparable."""

import dataclasses
from pathlib import Path

from export.compare.contenders import families
from export.compare.measurements import Measured
from export.compare.quality import METRICS, Quality
from export.compare.table import overview, quality_table, summary
from tests.export.compare.checkpoints import measured, row


def trained_longer(one: Measured) -> Measured:
    recipe = one.row.recipe
    training = dataclasses.replace(recipe.training, steps=2 * recipe.training.steps)
    return dataclasses.replace(
        one, row=dataclasses.replace(one.row, name="longer", recipe=dataclasses.replace(recipe, training=training))
    )


def test_differences_are_between_rows_that_were_trained_alike(tmp_path: Path) -> None:
    full, short = measured(row(tmp_path, "full", seed=2), 0.0), measured(row(tmp_path, "short", ngram=2), 0.5)
    rows = [
        dataclasses.replace(one, row=dataclasses.replace(one.row, bundled=one.row.name))
        for one in (full, short, trained_longer(short))
    ]
    scores = {one.row.name: dict.fromkeys(METRICS, Quality(20.0, 1.0, 0.25)) for one in rows}
    reference, other, longer = summary(families(rows), rows, scores, "full").splitlines()[2:]
    assert "+0.5" in other
    assert "+0.5" not in longer
    assert "+" not in reference
    _, other, longer = overview(rows, scores, "full").splitlines()[2:]
    assert [text.count("0.250") for text in (other, longer)] == [2, 0]
    assert "20.0 ± 1.0" in longer
    systems = {one.row.name: one for one in rows}
    _, other, longer = quality_table(systems, scores, "full").splitlines()[2:5]
    assert [text.count("0.250") for text in (other, longer)] == [2, 0]
