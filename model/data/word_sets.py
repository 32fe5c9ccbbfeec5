"""Word sets: nouns, adjectives and verbs alone and in a sentence, and short phrases, with accepted translations.

A word set is a file of lines KIND, tab, source, tab, accepted translations between bars; KIND is one of KINDS.
"""

from dataclasses import dataclass
from pathlib import Path

KINDS: dict[str, tuple[str, ...]] = {
    "noun": ("The {} is new.", "Where is the {}?", "I can see a {}.", "This is my {}.", "Have you seen the {}?"),
    "adjective": ("It was very {}.", "This is a {} house.", "They have a {} dog."),
    "verb": ("I want to {} it.", "You must not {} it.", "Can you {} it?"),
    "interface": (),
    "everyday": (),
}
"""Sentences for words of each kind; a word is put into one of them, in turn. Nouns and verbs have the same German form
in all of them."""
PHRASES = ("interface", "everyday")
"""Kinds whose items are translated as they are."""
ALONE = {"verb": "to {}"}
"""Kind -> the form in which its words are translated alone, if not as they are."""


class WordSetError(ValueError):
    """A line that is not an item."""


@dataclass(frozen=True)
class WordItem:
    """A source whose translation is right when it contains one of `accepted`."""

    kind: str
    source: str
    accepted: tuple[str, ...]


def read_word_set(path: Path) -> list[WordItem]:
    """Every item; a word gives two items, alone and in a sentence. Raises WordSetError with the line that is not an
    item."""
    items = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        kind, *rest = line.split("\t")
        if kind not in KINDS or len(rest) != 2 or not all(rest):
            expected = f"{', '.join([*KINDS][:-1])} or {[*KINDS][-1]}"
            raise WordSetError(f"{path}, line {number}: expected {expected}, tab, source, tab, translations")
        source, accepted, sentences = rest[0], tuple(rest[1].split("|")), KINDS[kind]
        items.append(WordItem(kind, ALONE.get(kind, "{}").format(source), accepted))
        if sentences:
            sentence = _with_article(sentences[number % len(sentences)].format(source), source)
            items.append(WordItem(f"{kind} in a sentence", sentence, accepted))
    return items


def _with_article(sentence: str, word: str) -> str:
    """ "a apple" -> "an apple"; plurals go without an article and with their own verb."""
    if word in ("stairs", "scissors", "trousers"):
        sentence = sentence.replace("is the", "are the").replace(" is new", " are new").replace("a ", "the ")
        return sentence.replace("This is", "These are")
    return sentence.replace(" a ", " an ") if word[0] in "aeiou" else sentence
