"""Made biographies: a sentence that says he or she, and one with a profession."""

import random
from collections.abc import Sequence

from model.synthetic.context.antecedents import Text
from model.synthetic.context.german import Gender
from model.synthetic.context.it import Decided
from model.synthetic.context.professions import Profession, with_article
from model.synthetic.context.words import capitalized, listed

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
    ("Until {Y} nobody knew where {p} lived.", "Bis {Y} wusste niemand, wo {q} wohnte."),
    ("At that time {p} lived with {h} parents in {C}.", "Damals wohnte {q} bei {i}en Eltern in {C}."),
    ("Critics wrote that {h} voice was too soft.", "Kritiker schrieben, dass {i}e Stimme zu leise war."),
    ("The museum in {C} bought {h} works in {Y}.", "Das Museum in {C} kaufte {Y} {i}e Werke."),
    ("It was {h} first visit to {C}.", "Es war {i} erster Besuch in {C}."),
    ("The reviews of {h} second book were good.", "Die Kritiken zu {i}em zweiten Buch waren gut."),
    ("A newspaper from {C} praised {h} style.", "Eine Zeitung aus {C} lobte {i}en Stil."),
    ("In {Y} the university of {C} published {h} letters.", "{Y} veröffentlichte die Universität {C} {i}e Briefe."),
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
    ("The book is about the childhood of the {e}.", "Das Buch handelt von der Kindheit {des} {G}."),
    ("Many people still know the {J} {e}.", "Viele kennen {den} {j}{en} {A} noch."),
    ("It is the first work by the {J} {e}.", "Es ist das erste Werk {des} {j}en {G}."),
    ("According to the {e}, the house was sold in {Y}.", "Nach Angaben {des} {G} wurde das Haus {Y} verkauft."),
    (
        "In an interview the {e} spoke about the years in {C}.",
        "In einem Interview sprach {der} {N} über die Jahre in {C}.",
    ),
    ("People talked to the {e} for hours.", "Man sprach stundenlang mit {dem} {A}."),
    ("The {e}'s first exhibition opened in {C}.", "Die erste Ausstellung {des} {G} wurde in {C} eröffnet."),
    ("{S} worked as {a} and later as {b}.", "{S} arbeitete als {N} und später als {M}."),
    ("Although {S} is {a}, few people in {C} know that.", "Obwohl {S} {N} ist, wissen das in {C} nur wenige."),
)


def life(gender: str, surname: str, frames: Sequence[Text], numbers: random.Random) -> Text:
    """A sentence that says he or she."""
    p, q, h, i = ("he", "er", "his", "sein") if gender == "m" else ("she", "sie", "her", "ihr")
    values = {"p": p, "P": capitalized(p), "q": q, "Q": capitalized(q), "h": h, "H": capitalized(h)}
    values |= {"i": i, "I": capitalized(i), "e": "e", "S": surname, "F": numbers.choice(FIRST[gender])}
    values |= {"Y": str(numbers.randrange(1780, 2020)), "C": numbers.choice(CITIES)}
    frame = numbers.choice(frames)
    return frame[0].format(**values), frame[1].format(**values)


def work(one: Profession, other: Profession, surname: str, frames: Sequence[Text], numbers: random.Random) -> Decided:
    """A sentence with a profession, or with two of the same person."""
    source_adjective, target_adjective = numbers.choice(ADJECTIVES)
    frame = numbers.choice(frames)
    values = {"S": surname, "C": numbers.choice(CITIES), "Y": str(numbers.randrange(1780, 2020)), "e": one.source}
    values |= {"a": with_article(one.source), "ja": with_article(f"{source_adjective} {one.source}")}
    values |= {"b": with_article(other.source), "J": source_adjective, "j": target_adjective}
    masculine = {"N": one.masculine, "A": one.oblique, "G": one.genitive, "M": other.masculine}
    masculine |= {"ein": "ein", "er": "er", "en": "en"}
    masculine |= {"der": "der", "Der": "Der", "den": "den", "dem": "dem", "des": "des"}
    feminine = dict.fromkeys("NAG", one.feminine) | {"M": other.feminine, "ein": "eine", "er": "e", "en": "e"}
    feminine |= {"der": "die", "Der": "Die", "den": "die", "dem": "der", "des": "der"}
    grammar: dict[Gender, dict[str, str]] = {"m": masculine, "f": feminine}
    targets = {gender: frame[1].format(**values, **grammar[gender]) for gender in PEOPLE}
    return Decided(frame[0].format(**values), targets, "biography")
