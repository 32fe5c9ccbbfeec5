"""Names of places in sentences: "from Turkey" is "aus der Türkei", "on the Rhine" is "am Rhein"."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from model.config import ConfigError
from model.synthetic.context.german import GENDERS, Case, Gender, determiner
from model.synthetic.context.words import capitalized
from model.synthetic.everyday.lines import numbered_lines

Article = Literal[Gender, "p"]
"""Of a name in the singular its gender, p of one in the plural."""
ARTICLES: tuple[Article, ...] = (*GENDERS, "p")
PLURAL: Mapping[Case, str] = {"nominative": "die", "accusative": "die", "dative": "den", "genitive": "der"}
CONTRACTIONS = {"in dem": "im", "an dem": "am", "in das": "ins"}
FRAMES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "country": (
        ("{}", "{nominative}"),
        ("I live in {}.", "Ich wohne in {dative}."),
        ("He lives in {}.", "Er lebt in {dative}."),
        ("She comes from {}.", "Sie kommt aus {dative}."),
        ("I am from {}.", "Ich komme aus {dative}."),
        ("They are travelling to {}.", "Sie reisen {to}."),
        ("He moved to {} last year.", "Er zog letztes Jahr {to}."),
        ("We are going to {} in summer.", "Wir fahren im Sommer {to}."),
        ("We have never been to {}.", "Wir waren noch nie in {dative}."),
        ("I know {} well.", "Ich kenne {accusative} gut."),
        ("It is made in {}.", "Es wird in {dative} hergestellt."),
        ("{} is not far away.", "{nominative} {is} nicht weit weg."),
    ),
    "city": (
        ("{}", "{nominative}"),
        ("I live in {}.", "Ich wohne in {dative}."),
        ("He was born in {}.", "Er wurde in {dative} geboren."),
        ("She comes from {}.", "Sie kommt aus {dative}."),
        ("We are going to {} tomorrow.", "Wir fahren morgen {to}."),
        ("The train to {} is late.", "Der Zug {to} hat Verspätung."),
        ("They arrived in {} at noon.", "Sie kamen mittags in {dative} an."),
        ("How far is it to {}?", "Wie weit ist es bis {dative}?"),
        ("{} is a beautiful city.", "{nominative} ist eine schöne Stadt."),
    ),
    "water": (
        ("{}", "{nominative}"),
        ("The city lies on {}.", "Die Stadt liegt an {dative}."),
        ("We swam in {}.", "Wir schwammen in {dative}."),
        ("We flew over {}.", "Wir flogen über {accusative}."),
        ("I would like to see {}.", "Ich möchte {accusative} sehen."),
        ("{} is cold in winter.", "{nominative} ist im Winter kalt."),
    ),
    "mountains": (
        ("{}", "{nominative}"),
        ("We hiked in {}.", "Wir wanderten in {dative}."),
        ("They are travelling to {}.", "Sie reisen {to}."),
        ("We flew over {}.", "Wir flogen über {accusative}."),
        ("I would like to see {}.", "Ich möchte {accusative} sehen."),
    ),
}
"""Kind of place -> English and German sentences. {to} is "nach Polen" and "in die Türkei"."""


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
    found = []
    for number, line in numbered_lines(path):
        kind, english, german, given = (*line.split("\t"), "", "", "")[:4]
        article = next((one for one in ARTICLES if one == given), None)
        if kind not in FRAMES or not german or (given and article is None):
            raise ConfigError(
                f"{path}, line {number}: a place is its kind ({', '.join(FRAMES)}), English, German and, where German "
                f"has an article, one of {', '.join(ARTICLES)}, with tabs between"
            )
        found.append(Place(kind, english, german, article))
    return found


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
        for english, german in FRAMES[place.kind]:
            said = german.format(**forms)
            for apart, together in CONTRACTIONS.items():
                said = said.replace(f"{apart} ", f"{together} ")
            yield capitalized(english.format(place.english)), capitalized(said)
