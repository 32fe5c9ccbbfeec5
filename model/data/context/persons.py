"""Professions: English does not say whether the teacher is a man or a woman, German must ("Lehrer", "Lehrerin"). The
sentence before tells by its pronoun. Real pairs with a masculine profession are made feminine by rule; made biographies
join a surname to a profession."""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from model.data.context import english
from model.data.context.antecedents import Text
from model.data.context.genders import Lexicon
from model.data.context.german import Gender, feminine
from model.data.context.it import Decided
from model.data.context.words import capitalized, flat, join, listed, split
from model.data.corpus import SentencePair

MAX_WORDS = 30
GENDERED = english.MALE | english.FEMALE | frozenset(
    listed(
        "tom mary john bob jim bill mike alice jane mr mrs miss ms man woman men women father mother brother"
        " sister boy girl wife husband son daughter uncle aunt king queen prince princess sir lady gentleman"
        " lord god jesus male female"
    )
)  # fmt: skip
"""Words that say themselves who is a man and who a woman."""
NOT_NEUTRAL = re.compile(r".*(man|men|ess|woman|ette|trix|boy|father|son|king|lord)")


@dataclass(frozen=True)
class Profession:
    source: str
    masculine: str
    feminine: str


def professions(lexicon: Lexicon, genders: Mapping[str, Gender], said: Mapping[str, int]) -> list[Profession]:
    """Masculine nouns with a feminine in -in (Lehrer, Arzt, Biologe), and their English where `said` (word -> how
    often text says it) has it and it does not tell the gender."""
    found = []
    for noun in sorted(noun for noun in genders if noun.endswith("in") and genders[noun] == "f"):
        stem = noun.removesuffix("in")
        masculine = next((form for form in _stems(stem) if genders.get(form) == "m"), None)
        if masculine is None or masculine not in lexicon or masculine == "Führer":
            continue
        for gloss in lexicon[masculine][1]:
            neutral = gloss.isalpha() and gloss.islower() and not NOT_NEUTRAL.fullmatch(gloss)
            if neutral and said.get(gloss, 0) >= 2 and len(gloss) > 3 and gloss not in GENDERED:
                found.append(Profession(gloss, masculine, noun))
    return found


def _stems(stem: str) -> tuple[str, ...]:
    plain = stem
    for umlaut, vowel in (("ä", "a"), ("ö", "o"), ("ü", "u"), ("Ä", "A"), ("Ö", "O"), ("Ü", "U")):
        plain = plain.replace(umlaut, vowel)
    return stem, f"{stem}e", plain, f"{plain}er"


def person_pairs(pairs: Iterable[SentencePair], known: Sequence[Profession]) -> list[Decided]:
    """Real pairs with one profession and nothing else that says who it is, masculine as they are and made feminine."""
    sources = {one.source for one in known}
    forms = {one.masculine: one.feminine for one in known}
    found = []
    for pair in pairs:
        words = set(flat(pair.source))
        if len(words & sources) != 1 or words & GENDERED or len(pair.source.split()) > MAX_WORDS:
            continue
        made = feminine(split(pair.target), forms)
        if made is not None:
            found.append(Decided(pair.source, {"m": pair.target, "f": join(made)}, "person"))
    return found


ADJECTIVES: tuple[Text, ...] = (
    ("famous", "berühmt"), ("young", "jung"), ("great", "groß"), ("good", "gut"), ("American", "amerikanisch"),
    ("German", "deutsch"), ("French", "französisch"), ("British", "britisch"), ("Italian", "italienisch"),
    ("Russian", "russisch"), ("successful", "erfolgreich"), ("well-known", "bekannt"), ("excellent", "hervorragend"),
    ("talented", "begabt"), ("leading", "führend"), ("experienced", "erfahren"), ("former", "ehemalig"),
    ("professional", "professionell"), ("Spanish", "spanisch"), ("Polish", "polnisch"), ("popular", "beliebt"),
)  # fmt: skip
CITIES = ("Berlin", "London", "Paris", "Boston", "Hamburg", "Chicago", "Madrid", "Leipzig", "Dresden", "Oxford")
FIRST: dict[str, tuple[str, ...]] = {
    "m": listed("Peter Paul Thomas David Robert George Michael Andrew Stephen Frank Henry Martin Daniel Simon Eric"),
    "f": listed("Anna Sarah Laura Julia Helen Emma Catherine Susan Elizabeth Margaret Alice Eva Martha Ruth Clara"),
}
SURNAMES = listed(
    "Miller Walker Turner Hughes Bennett Carter Parker Ross Murphy Collins Becker Hoffmann Krause Lindner"
    " Novak Silva Costa Rossi Moreau Dubois Jensen Larsen Ivanov Petrov Kowalski Sharma Gupta Tanaka Sato"
    " Kim Chen Wang Okafor Mensah Haddad Rahman Aydin Keller Baumann Steiner Graf Huber Brandt Sanders"
    " Holloway Whitfield Langley Ashford"
)
PEOPLE: tuple[Gender, Gender] = ("m", "f")
LIVES: tuple[Text, ...] = (
    ("{P} was born in {Y}.", "{Q} wurde {Y} geboren."),
    ("In {Y} {p} moved to {C}.", "{Y} zog {q} nach {C}."),
    ("{P} grew up in {C}.", "{Q} wuchs in {C} auf."),
    ("{P} studied in {C} from {Y} on.", "{Q} studierte ab {Y} in {C}."),
    ("{P} lived in {C} for ten years.", "{Q} lebte zehn Jahre in {C}."),
    ("{P} died in {Y}.", "{Q} starb {Y}."),
    ("{P} received several prizes.", "{Q} erhielt mehrere Preise."),
    ("{P} spoke three languages.", "{Q} sprach drei Sprachen."),
    ("{H} father was a merchant.", "{I} Vater war Kaufmann."),
    ("{H} mother came from {C}.", "{I}{e} Mutter stammte aus {C}."),
    ("{H} family left {C} in {Y}.", "{I}{e} Familie verließ {Y} {C}."),
    ("{F} {S} was born in {C}.", "{F} {S} wurde in {C} geboren."),
    ("{S} and {h} brother grew up in {C}.", "{S} und {i} Bruder wuchsen in {C} auf."),
    ("After the war {p} returned to {C}.", "Nach dem Krieg kehrte {q} nach {C} zurück."),
)
WORK: tuple[Text, ...] = (
    ("{S} was {a}.", "{S} war {N}."),
    ("{S} was {ja}.", "{S} war {ein} {j}{er} {N}."),
    ("{S} worked as {a} in {C}.", "{S} arbeitete als {N} in {C}."),
    ("{S} became {a} in {Y}.", "{S} wurde {Y} {N}."),
    ("The {e} was very popular.", "{Der} {N} war sehr beliebt."),
    ("As {a}, {S} was not successful.", "Als {N} war {S} nicht erfolgreich."),
    ("The {J} {e} lived in {C}.", "{Der} {j}e {N} lebte in {C}."),
    ("{S} wanted to become {a}.", "{S} wollte {N} werden."),
    ("{S} is considered {ja}.", "{S} gilt als {j}{er} {N}."),
    ("The {e} came back in {Y}.", "{Der} {N} kehrte {Y} zurück."),
    ("{S}, {a} from {C}, wrote a book.", "{S}, {ein} {N} aus {C}, schrieb ein Buch."),
    ("In {Y}, the {e} moved to {C}.", "{Y} zog {der} {N} nach {C}."),
    ("{S} was known as {ja}.", "{S} war als {j}{er} {N} bekannt."),
    ("Later {S} was also active as {a}.", "Später war {S} auch als {N} tätig."),
)


def life(gender: str, surname: str, numbers: random.Random) -> Text:
    """A sentence that says he or she."""
    p, q, h, i = ("he", "er", "his", "sein") if gender == "m" else ("she", "sie", "her", "ihr")
    values = {"p": p, "P": capitalized(p), "q": q, "Q": capitalized(q), "h": h, "H": capitalized(h)}
    values |= {"i": i, "I": capitalized(i), "e": "e", "S": surname, "F": numbers.choice(FIRST[gender])}
    values |= {"Y": str(numbers.randrange(1780, 2020)), "C": numbers.choice(CITIES)}
    frame = numbers.choice(LIVES)
    return frame[0].format(**values), frame[1].format(**values)


def work(known: Sequence[Profession], surname: str, numbers: random.Random) -> Decided:
    """A sentence with a profession."""
    one, (source_adjective, target_adjective) = numbers.choice(known), numbers.choice(ADJECTIVES)
    frame = numbers.choice(WORK)
    values = {"S": surname, "C": numbers.choice(CITIES), "Y": str(numbers.randrange(1780, 2020)), "e": one.source}
    values |= {"a": _article(one.source), "ja": _article(f"{source_adjective} {one.source}"), "J": source_adjective}
    values |= {"j": target_adjective}
    grammar: dict[Gender, dict[str, str]] = {
        "m": {"N": one.masculine, "ein": "ein", "er": "er", "der": "der", "Der": "Der"},
        "f": {"N": one.feminine, "ein": "eine", "er": "e", "der": "die", "Der": "Die"},
    }
    targets = {gender: frame[1].format(**values, **grammar[gender]) for gender in PEOPLE}
    return Decided(frame[0].format(**values), targets, "biography")


def _article(words: str) -> str:
    return f"{'an' if words[0] in 'aeioAEIO' else 'a'} {words}"
