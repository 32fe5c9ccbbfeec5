"""Names of places in sentences: "from Turkey" is "aus der Türkei", "on the Rhine" is "am Rhein"."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from model.config import ConfigError
from model.synthetic.context.german import GENDERS, Case, Gender, determiner
from model.synthetic.context.words import capitalized
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.tables import numbered_lines, texts

Article = Literal[Gender, "p"]
"""The gender of a name in the singular; p: a plural name."""
ARTICLES: tuple[Article, ...] = (*GENDERS, "p")
PLURAL: Mapping[Case, str] = {"nominative": "die", "accusative": "die", "dative": "den", "genitive": "der"}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "in das": "ins"}
KINDS = tuple(name.removeprefix("places ") for name in FRAMES if name.startswith("places "))
"""Kinds of places. In their sentences {to} is "nach Polen" and "in die Türkei"."""


@dataclass(frozen=True)
class Place:
    """`article` is None where German has none."""

    kind: str
    english: str
    german: str
    article: Article | None

    def in_case(self, case: Case) -> str:
        """With its article, an adjective and a plural in their endings."""
        if self.article is None:
            return self.german
        if self.article == "p":
            ending = "n" if case == "dative" and self.german.endswith("e") else ""
            return f"{PLURAL[case]} {self.german}{ending}"
        adjective, space, noun = self.german.rpartition(" ")
        weak = case == "dative" or (case, self.article) == ("accusative", "m")
        ending = "n" if weak and adjective.endswith("e") else ""
        return f"{determiner('der', self.article, case)} {adjective}{ending}{space}{noun}"

    @property
    def to(self) -> str:
        return f"nach {self.german}" if self.article is None else f"in {self.in_case('accusative')}"


def read_places(path: Path) -> list[Place]:
    """A line each: kind, tab, English, tab, German, for some a tab and m, f, n or p; # begins a comment. Raises
    ConfigError with the line."""
    results = []
    for number, line in numbered_lines(path):
        kind, english, german, article_code = (*line.split("\t"), "", "", "")[:4]
        article = next((article for article in ARTICLES if article == article_code), None)
        if kind not in KINDS or not german or (article_code and article is None):
            raise ConfigError(
                f"{path}, line {number}: a place is its kind ({', '.join(KINDS)}), English, German and, where German "
                f"has an article, one of {', '.join(ARTICLES)}, with tabs between"
            )
        results.append(Place(kind, english, german, article))
    return results


def places_in_sentences(places: Sequence[Place]) -> Iterator[tuple[str, str]]:
    """(English, German): every place in every frame of its kind."""
    for place in places:
        forms = {
            "nominative": place.in_case("nominative"),
            "accusative": place.in_case("accusative"),
            "dative": place.in_case("dative"),
            "to": place.to,
            "is": "sind" if place.article == "p" else "ist",
        }
        for english, german in texts(FRAMES[f"places {place.kind}"]):
            sentence = german.format(**forms)
            for apart, together in CONTRACTIONS.items():
                sentence = sentence.replace(f"{apart} ", f"{together} ")
            yield capitalized(english.format(place.english)), capitalized(sentence)
