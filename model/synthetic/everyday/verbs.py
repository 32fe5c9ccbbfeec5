"""Verbs with things, in tenses and voices: "He has repaired the bike.", "The bike must be repaired." """

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.config import ConfigError
from model.synthetic.everyday.frames import FRAMES
from model.synthetic.everyday.things import Thing, ThingSentence, finder
from model.synthetic.tables import numbered_lines, texts


@dataclass(frozen=True)
class Verb:
    """`prefix` is the separable prefix of the German verb, or empty; `third` the third person singular without it."""

    kinds: frozenset[str]
    english: str
    past: str
    participle: str
    prefix: str
    german: str
    third: str
    german_participle: str

    def sentence(self, english: str, german: str) -> ThingSentence:
        """A frame with this verb, for things."""
        english_forms = {
            "{infinitive}": self.english,
            "{past}": self.past,
            "{participle}": self.participle,
            "{present}": self.present,
        }
        german_forms = {
            "{infinitive}": f"{self.prefix}{self.german}",
            "{participle}": self.german_participle,
            "{imperative}": self.german,
            "{prefix}": f" {self.prefix}" if self.prefix else "",
            "{with_zu}": f"{self.prefix}zu{self.german}" if self.prefix else f"zu {self.german}",
            "{together}": f"{self.prefix}{self.third}",
        }
        return ThingSentence(self.kinds, _filled(english, english_forms), _filled(german, german_forms))

    @property
    def present(self) -> str:
        """English third person singular."""
        verb, space, particle = self.english.partition(" ")
        if verb.endswith("y") and verb[-2] not in "aeiou":
            verb = f"{verb[:-1]}ie"
        elif verb.endswith(("s", "sh", "ch", "x", "z")):
            verb = f"{verb}e"
        return f"{verb}s{space}{particle}"


def _filled(frame: str, forms: dict[str, str]) -> str:
    for slot, form in forms.items():
        frame = frame.replace(slot, form)
    return frame


def read_verbs(path: Path) -> list[Verb]:
    """A line each, its parts between tabs: kinds of things between commas; English infinitive, past and participle;
    German infinitive with a bar behind a separable prefix, third person singular and participle; # begins a comment.
    Raises ConfigError with the line."""
    results = []
    for number, line in numbered_lines(path):
        parts = line.split("\t")
        if len(parts) != 7 or not all(parts):
            raise ConfigError(
                f"{path}, line {number}: a verb is its kinds of things, three English forms and three German ones, "
                f"with tabs between, not {len(parts)} parts"
            )
        kinds, english, past, participle, infinitive, third, german_participle = parts
        prefix, _, german = infinitive.rpartition("|")
        results.append(
            Verb(frozenset(kinds.split(",")), english, past, participle, prefix, german, third, german_participle)
        )
    return results


def verb_sentences(verbs: Sequence[Verb], things: Sequence[Thing], uses: int, seed: int) -> Iterator[tuple[str, str]]:
    """(English, German): every verb in every frame, with so many things of its kinds (fewer where there are fewer)."""
    find = finder(things)
    for number, verb in enumerate(verbs):
        rng = random.Random(f"{seed}/{number}/{verb.english}")
        for english, german in texts(FRAMES["verbs"]):
            sentence = verb.sentence(english, german)
            suited = find(sentence)
            for thing in rng.sample(suited, min(uses, len(suited))):
                yield sentence.about(thing)
