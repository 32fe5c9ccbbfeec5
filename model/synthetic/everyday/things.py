"""Names of things in sentences of kitchens, shops, offices and journeys: "Cut the onions into cubes." """

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.config import ConfigError
from model.synthetic.context.german import MIXED_STEMS, PRONOUNS, Case, determiner
from model.synthetic.context.words import capitalized, like
from model.synthetic.everyday.places import ARTICLES, CONTRACTIONS, PLURAL, Article
from model.synthetic.tables import numbered_lines

SLOT = re.compile(r"\{([^{}]*)\}")
CHOICE = re.compile(r"\[([^|\]]*)\|([^|\]]*)\]")
VOWEL = re.compile(r"(?!uni|eu|ukr)[aeiou]", re.IGNORECASE)
OF_ONE = re.compile(r"\{a\}|\ba new \{\}")
CONTRACTED = {**CONTRACTIONS, "zu dem": "zum", "zu der": "zur", "von dem": "vom", "bei dem": "beim"}
APART = re.compile(rf"\b(?:{'|'.join((*CONTRACTED, *map(capitalized, CONTRACTED)))})\b")
CASE_ENDINGS: dict[str, Case] = {"es": "genitive", "em": "dative", "en": "accusative"}
PRONOUN_SLOTS: dict[str, Case] = {"er": "nominative", "ihn": "accusative"}


@dataclass(frozen=True)
class Thing:
    """`several`: the English word is plural, such as "trousers"; `article` p: the German word is."""

    kinds: frozenset[str]
    english: str
    german: str
    article: Article
    several: bool

    def fill(self, slot: str) -> str:
        """The text of a slot of a German sentence, whose name is the form for a masculine noun: "dem" is "dem Topf" or
        "der Pfanne", "einen neuen" "einen neuen Topf" or "eine neue Pfanne"."""
        if slot == "":
            return self.german
        if slot == "n":
            return self.noun("dative")
        if slot in PRONOUN_SLOTS:
            return "sie" if self.article == "p" else PRONOUNS[PRONOUN_SLOTS[slot]][self.article]
        first, *adjectives = slot.split()
        case = case_of(first)
        endings = [adjective_like(adjective, stem_of(first), self.article, case) for adjective in adjectives]
        return " ".join([article_like(first, self.article, case), *endings, self.noun(case)])

    def noun(self, case: Case) -> str:
        if self.article == "p":
            return f"{self.german}n" if case == "dative" and self.german.endswith(("e", "er", "el")) else self.german
        if case == "genitive" and self.article != "f":
            return self.german + ("es" if self.german.endswith(("s", "ß", "x", "z")) else "s")
        return self.german


@dataclass(frozen=True)
class ThingSentence:
    """Both sides with slots, for things of some kinds."""

    kinds: frozenset[str]
    english: str
    german: str

    def suits(self, thing: Thing) -> bool:
        """Whether the thing has the right kind and number, and is not in the sentence already."""
        if not self.kinds & thing.kinds:
            return False
        is_there = thing.german in self.german or re.search(rf"\b{re.escape(thing.english)}\b", self.english)
        is_one = not thing.several and thing.article != "p"
        return not is_there and (is_one or not OF_ONE.search(self.english))

    def about(self, thing: Thing) -> tuple[str, str]:
        """(English, German)."""
        article = "an" if VOWEL.match(thing.english) else "a"
        english = self.english.replace("{a}", f"{article} {{}}").replace("{}", thing.english)
        german = SLOT.sub(lambda slot: thing.fill(slot[1]), self.german)
        german = APART.sub(lambda words: like(CONTRACTED[words[0].lower()], words[0]), german)
        return capitalized(_choose(english, thing.several)), capitalized(_choose(german, thing.article == "p"))


def case_of(article: str) -> Case:
    """The case of the masculine form of an article: "dieser" and "mein" are nominative."""
    return CASE_ENDINGS.get(article[-2:], "nominative")


def stem_of(article: str) -> str:
    """The stem of a masculine form: "der" of "dem", "mein" of "meinen", "dies" of "dieser"."""
    if article in ("der", "des", "dem", "den"):
        return "der"
    return article if article.lower() in MIXED_STEMS else article[:-2]


def article_like(masculine: str, article: Article, case: Case) -> str:
    """An article, or an adjective without one ("frischen"), as `masculine` is of masculine nouns."""
    stem = stem_of(masculine)
    if stem == "der":
        return PLURAL[case] if article == "p" else determiner("der", article, case)
    if article == "p":
        return stem + {"dative": "en", "genitive": "er"}.get(case, "e")
    known = (
        stem.lower() if stem.lower() in MIXED_STEMS else "dies"
    )  # adjectives without an article end as "dieser" does
    return stem + determiner(known, article, case).removeprefix(known)


def adjective_like(masculine: str, stem: str, article: Article, case: Case) -> str:
    """An adjective behind an article of this stem: "der nächste", "ein neuer"."""
    bare = re.sub(r"(e|en|er)$", "", masculine)
    if article == "p" or case in ("dative", "genitive") or (article, case) == ("m", "accusative"):
        return f"{bare}en"
    if stem.lower() in MIXED_STEMS:  # "ein" does not mark the gender, so the adjective does
        return bare + {"m": "er", "f": "e", "n": "es"}[article]
    return f"{bare}e"


def _choose(text: str, several: bool) -> str:
    return CHOICE.sub(lambda choice: choice[2 if several else 1], text)


def read_things(path: Path) -> list[Thing]:
    """A line each: kinds between commas, tab, English, tab, German, tab and m, f, n or p; for some a tab and the number
    of the English word, s or p; # begins a comment. Raises ConfigError with the line."""
    results = []
    for number, line in numbered_lines(path):
        kinds, english, german, article_code, number_code = (*line.split("\t"), "", "", "", "")[:5]
        article = next((article for article in ARTICLES if article == article_code), None)
        if not (kinds and english and german) or article is None or number_code not in ("", "s", "p"):
            raise ConfigError(
                f"{path}, line {number}: a thing is its kinds, English, German, one of {', '.join(ARTICLES)} and, "
                f"where English has another number, s or p, with tabs between"
            )
        results.append(Thing(frozenset(kinds.split(",")), english, german, article, (number_code or article) == "p"))
    return results


def read_sentences(path: Path) -> list[ThingSentence]:
    """A line each: kinds between commas, tab, English, tab, German, each with a slot; # begins a comment. Raises
    ConfigError with the line."""
    results = []
    for number, line in numbered_lines(path):
        kinds, english, german = (*line.split("\t"), "", "")[:3]
        known = bool(SLOT.search(english)) and set(SLOT.findall(english)) <= {"", "a"}
        if not kinds or not known or not SLOT.search(german):
            raise ConfigError(
                f"{path}, line {number}: a sentence is its kinds, English with {{}} or {{a}}, and German with {{den}} "
                f"or another article, with tabs between"
            )
        results.append(ThingSentence(frozenset(kinds.split(",")), english, german))
    return results


def things_in_sentences(things: Sequence[Thing], sentences: Sequence[ThingSentence]) -> Iterator[tuple[str, str]]:
    """(English, German): every thing in every sentence that suits it."""
    find = finder(things)
    for sentence in sentences:
        for thing in find(sentence):
            yield sentence.about(thing)


def finder(things: Sequence[Thing]) -> Callable[[ThingSentence], list[Thing]]:
    """A function that returns the things that suit a sentence, in their order. Most things are of other kinds: those of
    the same kinds are collected once."""

    @functools.cache
    def of_kinds(kinds: frozenset[str]) -> list[Thing]:
        return [thing for thing in things if kinds & thing.kinds]

    return lambda sentence: [thing for thing in of_kinds(sentence.kinds) if sentence.suits(thing)]
