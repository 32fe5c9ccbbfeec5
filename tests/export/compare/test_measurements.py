"""What is measured: which items of a set, and what of them makes the costs of documents."""

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.compare.measurements import MeasurementPlan, by_document
from export.compare.tables import precision_table
from export.compare.text import EncodedPair, TextSet
from model.data.batching import Pair
from model.data.corpus import SentencePair
from tests.export.compare.checkpoints import measured, row


@pytest.mark.parametrize("total", [1, 7, 20])
@pytest.mark.parametrize("count", [1, 3, 7, 50])
def test_items_are_taken_from_all_over_their_set(total: int, count: int, tmp_path: Path) -> None:
    """As far apart as they can be; all of them where there are no more."""
    lines = [
        {"src": f"Number {n}.", "ref": "Eins.", "contrastive": ["Zwei."], "src_context": "Yes."} for n in range(total)
    ]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = MeasurementPlan(tmp_path, (), (), contrastive=("items",), items=count).read_items("items")
    taken = [int(item.source.strip("Number .")) for item in result]
    gaps = {after - before for before, after in itertools.pairwise([*taken, total])}
    assert len(taken) == min(count, total)
    assert taken[0] == 0
    assert max(gaps) - min(gaps) <= 1


@settings(deadline=None)
@given(lengths=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=6))
def test_costs_and_tokens_of_a_document_are_sums_over_its_sentences(lengths: list[list[int]]) -> None:
    documents = tuple(
        tuple(EncodedPair(SentencePair("s", "t", number), Pair([5], [6] * length)) for length in document)
        for number, document in enumerate(lengths)
    )
    text = TextSet("dev", documents, "key")
    numbers = np.random.default_rng(sum(map(len, lengths)))
    nll = numbers.random(len(text.sentences)).tolist()
    costs = by_document(nll, text)
    left = iter(nll)
    for number, document in enumerate(lengths):
        assert costs.nll[number] == pytest.approx(sum(next(left) for _ in document))
        assert costs.tokens[number] == sum(length + 1 for length in document)
    assert next(left, None) is None
    assert costs.estimate.value == pytest.approx(sum(nll) / sum(n + 1 for document in lengths for n in document))


def test_int8_is_compared_with_fp32_and_not_the_other_way_round(tmp_path: Path) -> None:
    """What int8 costs is more nats and fewer points of BLEU."""
    precisions = {"fp32": {"nll": 1.5, "bleu": 30.25}, "int8": {"nll": 1.625, "bleu": 29.0}}
    first = dataclasses.replace(measured(row(tmp_path, "full"), 0.0), precisions=precisions)
    [cells] = [line.strip("| ").split(" | ") for line in precision_table([first]).splitlines()[2:]]
    assert cells[2:] == ["1.5000", "1.6250", "+0.1250", "30.25", "29.00", "-1.25"]
