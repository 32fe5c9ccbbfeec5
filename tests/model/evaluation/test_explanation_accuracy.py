"""Whether a look goes where the antecedent is: words, weights and what they are compared with, counted by hand."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from model.config import ConfigError
from model.data.corpus import CorpusError
from model.data.items import Antecedent, ContrastiveItem, read_items
from model.data.vocabulary import Vocabulary
from model.document import DocumentModel
from model.evaluation import explanation_accuracy as module
from model.evaluation.command import ContrastiveAccuracyCommand
from model.evaluation.explanation_accuracy import Word, explanation_accuracy, nearest_noun, noun_phrase, weighted_words
from model.training.checkpoint import VOCABULARY
from server.artifact.artifact import Artifact
from server.backends.context import full_context
from server.backends.load import load_backend
from server.cli.main import Parser
from tests.documents import ContextArtifact, lively_document_model, write_document_checkpoint
from tests.model.test_scoring import ITEM, write_items
from tests.models import SENTENCES

CONTEXT = ("We walk home in the rain.", "A house stands by the old river.", "Yes.")
TRANSLATED = ("Wir gehen im Regen nach Hause.", "Das Haus steht am Fluss.", "Ja.")
RIVER = ContrastiveItem(
    "It is cold.", "Er ist kalt.", ("Es ist kalt.",), CONTEXT, TRANSLATED, (), Antecedent(1, "river", "Fluss")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_document_checkpoint(lively_document_model(), tmp_path_factory.mktemp("explained"))


@pytest.fixture(scope="module")
def vocabulary(folder: Path) -> Vocabulary:
    return Vocabulary(folder / VOCABULARY)


def words(weights: dict[str, float]) -> list[Word]:
    return [Word(number, text, weights.get(text, 0.01)) for number, item in enumerate(CONTEXT) for text in item.split()]


def test_weights_are_those_of_the_served_explanation(vocabulary: Vocabulary, context_artifact: ContextArtifact) -> None:
    """The artifact explains a sentence by pieces; a word has the sum of its pieces."""
    model = lively_document_model()
    artifact = Artifact.load(context_artifact("sparse-soft", "encoder"))
    context = load_backend(artifact, "onnx", "fp32", "off").context
    assert context is not None
    source, *before = ((*ids, 3) for ids in vocabulary.encode([RIVER.source, *CONTEXT]))
    seen = full_context([context.compute_states(ids) for ids in before], [len(ids) - 1 for ids in before])
    assert seen is not None
    use = context.explain(source, seen)
    assert use.words is not None
    result = weighted_words(model, vocabulary, RIVER)
    assert [word.text for word in result] == [text for item in CONTEXT for text in item.split()]
    assert max(len(ids) for ids in before) > len(CONTEXT[1].split()) + 1, "no word has several pieces"
    for number, by_head in enumerate(use.words):
        of_sentence = [word.weight for word in result if word.sentence == number]
        assert sum(of_sentence) == pytest.approx(float(by_head.mean(axis=0).sum()), abs=1e-3)
    last = use.words[2].mean(axis=0)  # of one word
    assert result[-1].weight == pytest.approx(float(np.sum(last)), abs=1e-3)


def test_a_noun_phrase_begins_with_its_determiner() -> None:
    assert RIVER.antecedent is not None
    nouns, phrase = noun_phrase(words({}), RIVER.antecedent)
    assert {words({})[place].text for place in nouns} == {"river."}
    assert [words({})[place].text for place in sorted(phrase)] == ["the", "old", "river."]
    assert noun_phrase(words({}), Antecedent(0, "river", "Fluss")) == (set(), set())
    two = noun_phrase(words({}), Antecedent(1, "old river", "Fluss"))
    assert (len(two[0]), len(two[1])) == (2, 3)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"river.": 0.9}, (True, True, True)),
        ({"old": 0.9}, (True, False, True)),
        ({"stands": 0.9}, (True, False, False)),
        ({"rain.": 0.9}, (False, False, False)),
        ({"river.": 0.4, "rain.": 0.3, "walk": 0.3}, (False, True, True)),
    ],
)
def test_the_highest_weight_decides(
    weights: dict[str, float], expected: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch, vocabulary: Vocabulary
) -> None:
    monkeypatch.setattr(module, "weighted_words", lambda *_: words(weights))
    actual = explanation_accuracy(lively_document_model(), vocabulary, [RIVER] * 400)
    assert [set(actual[name]) for name in ("sentence", "noun", "noun phrase")] == [{right} for right in expected]
    assert sum(actual["random word is the noun"]) / 400 == pytest.approx(1 / 14, abs=0.05)
    assert sum(actual["random sentence"]) / 400 == pytest.approx(1 / 3, abs=0.1)
    assert set(actual["nearest noun"]) == {True}


def test_the_nearest_noun_is_the_last_with_a_capital() -> None:
    assert nearest_noun(TRANSLATED) == (1, "Fluss")
    assert nearest_noun(["Der Hund sah die Katze. Sie lief."]) == (0, "Katze")
    assert nearest_noun(["Ja.", "Es ist kalt."]) is None


def test_an_antecedent_beyond_the_reach_is_not_found(vocabulary: Vocabulary) -> None:
    model = lively_document_model()
    near = DocumentModel(model.base, dataclasses.replace(model.config, reach=1)).eval()
    assert {word.sentence for word in weighted_words(near, vocabulary, RIVER)} == {2}
    result = explanation_accuracy(near, vocabulary, [RIVER])
    assert not any(result[name][0] for name in ("sentence", "noun", "noun phrase"))


def test_layers_that_weigh_no_words_say_so(vocabulary: Vocabulary) -> None:
    torch.manual_seed(0)
    with pytest.raises(ConfigError, match="weighs sentences, not words"):
        weighted_words(lively_document_model("flat-sentence"), vocabulary, RIVER)
    with pytest.raises(ConfigError, match="consists of translations"):
        weighted_words(lively_document_model(side="decoder"), vocabulary, RIVER)


def test_the_command_has_a_table_of_explanations(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ITEM | {"src_context": SENTENCES[0], "antecedent": {"sentence": 0, "noun": "river", "translation": "Fluss"}}
    path, report = write_items(tmp_path / "set.jsonl.gz", named, ITEM, named), tmp_path / "report.json"
    command, parser = ContrastiveAccuracyCommand(), Parser("ringmt contrastive-accuracy", "")
    command.add_arguments(parser)
    assert command.run(parser.parse([str(folder), "--set", str(path), "--explain", "--json", str(report)])) == 0
    printed = capsys.readouterr().out
    assert "| sentence | noun | noun phrase | random sentence | random word is the noun | nearest noun |" in printed
    values = json.loads(report.read_text(encoding="utf-8"))
    assert values["explained: sentence"]["all"] == {"right": 2, "items": 2} | {
        key: values["explained: sentence"]["all"][key] for key in ("low", "high")
    }
    assert values["with context"]["all"]["items"] == 3
    bare = write_items(tmp_path / "bare.jsonl.gz", ITEM)
    with pytest.raises(ConfigError, match="items with an antecedent"):
        command.run(parser.parse([str(folder), "--set", str(bare), "--explain"]))


@pytest.mark.parametrize(
    ("antecedent", "message"),
    [
        ({"sentence": 1, "noun": "a", "translation": "b"}, "a sentence that src_context does not have"),
        ({"noun": "a", "translation": "b"}, "has sentence, noun and translation"),
        ("river", "has sentence, noun and translation"),
    ],
)
def test_an_antecedent_that_cannot_be_used_says_why(antecedent: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=message):
        read_items(write_items(tmp_path / "a.jsonl.gz", ITEM | {"antecedent": antecedent}))
