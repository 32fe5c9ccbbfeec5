"""Documents made of the small sample: what decides them, and that they are the same again."""

import argparse
import collections
import random
from pathlib import Path

import pytest

from model.config import ConfigError
from model.data.corpus import read_corpus
from model.data.items import read_items
from model.synthetic.context.command import make_context_data_command
from model.synthetic.context.english import FEMALE, GENDERED, MALE
from model.synthetic.context.genders import read_lexicon
from model.synthetic.context.impersonal import impersonal
from model.synthetic.context.it import Reference
from model.synthetic.context.make import SIZES, Document, made_documents
from model.synthetic.context.material import Material, find_material
from model.synthetic.context.two_nouns import ACTIONS
from model.synthetic.context.wordlists import TRAINING_WORDS
from model.synthetic.context.words import flat

SAMPLE = Path(__file__).parents[3] / "sample"
LEXICON = """\
Auto\tn\tcar
Buch\tn\tbook
Haus\tn\thouse
Hund\tm\tdog
Katze\tf\tcat
Tür\tf\tdoor
Wasser\tn\twater
Arzt\tm\tdoctor
Ärztin\tf\tdoctor
Lehrer\tm\tteacher
Lehrerin\tf\tteacher
Film\tm\tmovie
Hut\tm\that
Stuhl\tm\tchair
Zug\tm\ttrain
Zimmer\tn\troom
Brief\tm\tletter
Schlüssel\tm\tkey
Tasche\tf\tbag
Idee\tf\tidea
Fenster\tn\twindow
Tisch\tm\ttable
Plan\tm\tplan
Antwort\tf\tanswer
"""


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lexicon") / "genders.tsv"
    path.write_text(LEXICON, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def material(lexicon: Path) -> tuple[Material, Material]:
    pairs = [pair for name in ("tatoeba", "dialogues") for pair in read_corpus(SAMPLE, name, "en", "de")]
    return find_material(pairs, read_lexicon(lexicon))


@pytest.fixture(scope="module")
def documents(material: tuple[Material, Material]) -> dict[str, list[Document]]:
    return made_documents(material[0], seed=1, share=0.01)


def run(out: Path, *arguments: str) -> dict[str, bytes]:
    parser = argparse.ArgumentParser()
    make_context_data_command.add_arguments(parser)
    given = [
        "--data",
        str(SAMPLE),
        "--corpora",
        "tatoeba",
        "dialogues",
        "--out",
        str(out),
        "--size",
        "0.01",
        *arguments,
    ]
    assert make_context_data_command.run(parser.parse_args(given)) == 0
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*.gz"))}


def test_the_same_seed_makes_the_same_files(lexicon: Path, tmp_path: Path) -> None:
    first, again = (run(tmp_path / name, "--lexicon", str(lexicon)) for name in ("one", "again"))
    other = run(tmp_path / "other", "--lexicon", str(lexicon), "--seed", "2")
    assert first == again
    assert first != other
    assert {f"context-{kind}.{language}.gz" for kind in SIZES for language in ("en", "de")} <= first.keys()
    for kind in SIZES:
        read_corpus(tmp_path / "one", f"context-{kind}", "en", "de")  # line by line parallel


def test_text_without_a_sure_noun_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.en").write_text("Hi.\n", encoding="utf-8")
    (tmp_path / "x.de").write_text("Hallo.\n", encoding="utf-8")
    parser = argparse.ArgumentParser()
    make_context_data_command.add_arguments(parser)
    given = parser.parse_args(["--data", str(tmp_path), "--corpora", "x", "--out", str(tmp_path / "out")])
    with pytest.raises(ConfigError, match="no noun whose gender and translation are sure"):
        make_context_data_command.run(given)


def test_every_document_has_one_right_answer_among_several(documents: dict[str, list[Document]]) -> None:
    assert {kind for kind, made in documents.items() if made} >= {"frame", "selection", "number", "animacy"}
    for kind, made in documents.items():
        for document in made:
            assert document.answer in document.ambiguous.targets
            assert document.context
            assert "{" not in "".join(text for both in document.sentences for text in both)
            if kind in ("pleonastic", "event"):
                assert document.answer == "n"


def test_made_sentences_without_an_antecedent_say_es_and_nothing_else_changes() -> None:
    numbers = random.Random(1)
    kinds: tuple[Reference, Reference] = ("pleonastic", "event")
    for kind in kinds:
        made = [impersonal(kind, TRAINING_WORDS, numbers) for _ in range(300)]
        assert len({sentence.source for sentence in made}) > 150
        for sentence in made:
            assert "{" not in sentence.source + sentence.targets["n"]
            right, wrong = flat(sentence.targets["n"]), flat(sentence.targets["m"])
            changed = [(a, b) for a, b in zip(right, wrong, strict=True) if a != b]
            assert changed in ([("es", "er")], [("es", "ihn")])


def test_the_same_sentences_stand_before_a_pronoun_with_an_antecedent_and_without(
    documents: dict[str, list[Document]],
) -> None:
    """Else "es" would be learned from the sentence before instead of its own."""
    actions = [source.split("{")[1].partition("}")[2].strip() for source, _ in ACTIONS]
    for kind in ("selection", "pleonastic", "event"):
        before = [source for document in documents[kind] for source, _ in document.context]
        assert sum(any(action in source for action in actions) for source in before) > len(documents[kind]) / 10


def test_frames_and_pairs_of_nouns_have_every_gender(documents: dict[str, list[Document]]) -> None:
    answers = collections.Counter(document.answer for document in documents["selection"])
    assert min(answers[gender] for gender in ("m", "f", "n")) > 5


def test_a_document_records_the_antecedent_of_its_pronoun(documents: dict[str, list[Document]]) -> None:
    without = {"pleonastic", "event", "person", "biography"}
    for kind, made in documents.items():
        for document in made:
            antecedent = document.antecedent
            assert (antecedent is None) == (kind in without)
            if antecedent is not None:
                source, target = document.context[antecedent.sentence]
                assert antecedent.noun.lower() in source.lower()
                assert antecedent.translation in target


def test_no_name_stands_between_a_person_and_its_pronoun(documents: dict[str, list[Document]]) -> None:
    """Tom would say who the teacher is."""
    for document in (*documents["person"], *documents["biography"]):
        flat_words = [set(flat(source)) for source, _ in document.sentences]
        says_who = [bool(words & (MALE | FEMALE)) for words in flat_words]
        assert any(says_who)
        assert not any(words & (GENDERED - MALE - FEMALE) for words in flat_words[says_who.index(True) + 1 :])


def test_only_one_of_two_nouns_is_selected(documents: dict[str, list[Document]]) -> None:
    """The one whose class has the predicate; the other is of another class and gender."""
    class_of = {noun.source: cls for cls in TRAINING_WORDS.classes for noun in cls.nouns}
    for document in documents["selection"]:
        first = next(text for text in document.context if len(set(flat(text[0])) & class_of.keys()) == 2)
        nouns = [
            noun
            for cls in TRAINING_WORDS.classes
            for noun in cls.nouns
            if noun.source in flat(first[0]) and noun.target in first[1]
        ]
        fitting = [
            noun
            for noun in nouns
            if document.ambiguous.source in {source for source, _ in class_of[noun.source].predicates}
        ]
        assert [noun.gender for noun in fitting] == [document.answer]
        assert len({noun.gender for noun in nouns}) == 2


def test_no_noun_is_in_training_and_dev(material: tuple[Material, Material]) -> None:
    training, dev = material
    assert not {noun.target for noun in training.things} & {noun.target for noun in dev.things}
    assert not {profession.masculine for profession in training.professions} & {
        profession.masculine for profession in dev.professions
    }
    assert not {person.profession for person in training.persons} & {person.profession for person in dev.persons}
    assert not {item.noun for item in training.pronominal} & {item.noun for item in dev.pronominal}
    for half, other in ((training, dev), (dev, training)):
        for _, noun in (pair for pairs in half.antecedents.one_noun.values() for pair in pairs):
            assert noun not in other.things


def test_excluded_sentences_are_nowhere(lexicon: Path) -> None:
    pairs = read_corpus(SAMPLE, "tatoeba", "en", "de")
    gone = frozenset(pair.source for pair in pairs[::2])
    for half in find_material(pairs, read_lexicon(lexicon), gone):
        assert not gone & {source for source, _ in half.everything}
        assert not gone & {sentence.source for sentence in (*half.referential, *half.pleonastic, *half.event)}
        assert not gone & {person.source for person in half.persons}


def test_dev_items_are_a_contrastive_set(lexicon: Path, tmp_path: Path) -> None:
    run(tmp_path, "--lexicon", str(lexicon), "--size", "0.5")
    items = read_items(tmp_path / "dev" / "context-items.jsonl.gz")
    assert items
    pronouns = {"er", "sie", "es", "ihn", "ihm", "ihr", "ihnen", "sein", "seine", "ihre", "dieser", "diese", "dieses"}
    for item in items:
        right, *wrong = (flat(entry) for entry in (item.reference, *item.wrong))
        assert len({item.reference, *item.wrong}) == 1 + len(item.wrong) >= 3
        for other in wrong:  # nothing but the pronoun tells which is right
            changed = [(a, b) for a, b in zip(right, other, strict=True) if a != b]
            assert len(changed) == 1
            assert set(changed[0]) <= pronouns, changed
        assert item.source_context
        assert len(item.source_context) == len(item.reference_context)
        assert item.source not in item.source_context
    assert len({item.reference for item in items}) > len(items) / 20
    assert {dict(item.groups)["gender"] for item in items} == {"m", "f", "n"}
