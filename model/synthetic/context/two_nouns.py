"""Two nouns of different gender, of which only one can be meant: by agreement in number ("The shoes were next to the
box. It was empty."), by animacy ("The girl found the key. It was rusty."), by selection ("The cake was next to the
letter. It tasted sweet.") or because words are repeated ("The cup was in the kitchen and the book in the garden. It had
been in the garden for days.")."""

import random
from collections.abc import Sequence

from model.synthetic.context.antecedents import Text
from model.synthetic.context.frames import ADJECTIVES, it_frame, slots
from model.synthetic.context.it import Decided
from model.synthetic.context.nouns import Noun
from model.synthetic.context.wordlists import SemanticClass, WordLists, semantic_class
from model.synthetic.context.words import capitalized

CLASSES: tuple[SemanticClass, ...] = (
    semantic_class(
        "dog/Hund/m cat/Katze/f horse/Pferd/n cow/Kuh/f bird/Vogel/m sheep/Schaf/n mouse/Maus/f pig/Schwein/n"
        " goat/Ziege/f fox/Fuchs/m duck/Ente/f chicken/Huhn/n donkey/Esel/m frog/Frosch/m snake/Schlange/f"
        " camel/Kamel/n wolf/Wolf/m goose/Gans/f crocodile/Krokodil/n tiger/Tiger/m bee/Biene/f owl/Eule/f"
        " hamster/Hamster/m",
        ("It was hungry.", "{Er} war hungrig."),
        ("It ran away.", "{Er} ist weggelaufen."),
        ("It was asleep.", "{Er} schlief."),
        ("It woke up.", "{Er} ist aufgewacht."),
        ("It was afraid of the children.", "{Er} hatte Angst vor den Kindern."),
        ("It has eaten nothing since yesterday.", "{Er} hat seit gestern nichts gefressen."),
        ("It died last week.", "{Er} ist letzte Woche gestorben."),
        ("We have to feed it.", "Wir müssen {ihn} füttern."),
    ),
    semantic_class(
        "cake/Kuchen/m soup/Suppe/f bread/Brot/n cheese/Käse/m pizza/Pizza/f meat/Fleisch/n apple/Apfel/m"
        " sausage/Wurst/f egg/Ei/n salad/Salat/m jelly/Gelee/n sauce/Soße/f rice/Reis/m butter/Butter/f"
        " pear/Birne/f orange/Orange/f ham/Schinken/m sandwich/Sandwich/n banana/Banane/f",
        ("It tasted sweet.", "{Er} schmeckte süß."),
        ("It was delicious.", "{Er} war köstlich."),
        ("We ate it for breakfast.", "Wir haben {ihn} zum Frühstück gegessen."),
        ("It was too salty.", "{Er} war zu salzig."),
        ("It went bad.", "{Er} ist schlecht geworden."),
        ("My sister cooked it.", "Meine Schwester hat {ihn} gekocht."),
        ("It was still raw.", "{Er} war noch roh."),
        within_reach=True,
    ),
    semantic_class(
        "car/Auto/n train/Zug/m bus/Bus/m bicycle/Fahrrad/n truck/Lastwagen/m ship/Schiff/n plane/Flugzeug/n"
        " ferry/Fähre/f motorcycle/Motorrad/n tram/Straßenbahn/f subway/U-Bahn/f taxi/Taxi/n rocket/Rakete/f",
        ("It leaves at eight.", "{Er} fährt um acht ab."),
        ("It broke down on the way.", "{Er} ist unterwegs liegen geblieben."),
        ("It was going too fast.", "{Er} fuhr zu schnell."),
        ("It arrived late.", "{Er} kam zu spät an."),
        ("We got on it.", "Wir sind in {ihn} eingestiegen."),
    ),
    semantic_class(
        "shirt/Hemd/n jacket/Jacke/f coat/Mantel/m hat/Hut/m skirt/Rock/m dress/Kleid/n cap/Mütze/f"
        " blouse/Bluse/f sweater/Pullover/m scarf/Schal/m tie/Krawatte/f suit/Anzug/m",
        ("It doesn't fit me.", "{Er} passt mir nicht."),
        ("She put it on.", "Sie zog {ihn} an."),
        ("It is too tight.", "{Er} ist zu eng."),
        ("I wear it every day.", "Ich trage {ihn} jeden Tag."),
        ("It has to be washed.", "{Er} muss gewaschen werden."),
        within_reach=True,
    ),
    semantic_class(
        "book/Buch/n letter/Brief/m newspaper/Zeitung/f novel/Roman/m poem/Gedicht/n contract/Vertrag/m"
        " report/Bericht/m magazine/Zeitschrift/f diary/Tagebuch/n article/Artikel/m postcard/Postkarte/f",
        ("I have already read it.", "Ich habe {ihn} schon gelesen."),
        ("It was written in French.", "{Er} war auf Französisch geschrieben."),
        ("It has many pages.", "{Er} hat viele Seiten."),
        ("Who wrote it?", "Wer hat {ihn} geschrieben?"),
        ("It was translated into German.", "{Er} wurde ins Deutsche übersetzt."),
        within_reach=True,
    ),
    semantic_class(
        "house/Haus/n church/Kirche/f hotel/Hotel/n tower/Turm/m castle/Schloss/n school/Schule/f"
        " bridge/Brücke/f palace/Palast/m factory/Fabrik/f station/Bahnhof/m library/Bibliothek/f"
        " museum/Museum/n",
        ("It was built a hundred years ago.", "{Er} wurde vor hundert Jahren gebaut."),
        ("It was torn down.", "{Er} wurde abgerissen."),
        ("It is open to visitors.", "{Er} ist für Besucher geöffnet."),
        ("A famous architect designed it.", "Ein berühmter Architekt hat {ihn} entworfen."),
    ),
    semantic_class(
        "bottle/Flasche/f glass/Glas/n bucket/Eimer/m box/Kiste/f suitcase/Koffer/m barrel/Fass/n cup/Tasse/f"
        " basket/Korb/m drawer/Schublade/f",
        ("It was full of water.", "{Er} war voll Wasser."),
        ("I filled it to the top.", "Ich habe {ihn} bis oben gefüllt."),
        ("It was empty.", "{Er} war leer."),
        within_reach=True,
    ),
    semantic_class(
        "telephone/Telefon/n computer/Computer/m radio/Radio/n clock/Uhr/f lamp/Lampe/f printer/Drucker/m"
        " camera/Kamera/f refrigerator/Kühlschrank/m heater/Heizung/f keyboard/Tastatur/f oven/Ofen/m",
        ("It doesn't work anymore.", "{Er} funktioniert nicht mehr."),
        ("Did you turn it off?", "Hast du {ihn} ausgeschaltet?"),
        ("It has to be repaired.", "{Er} muss repariert werden."),
        ("It uses too much electricity.", "{Er} verbraucht zu viel Strom."),
    ),
    semantic_class(
        "tree/Baum/m rose/Rose/f flower/Blume/f bush/Busch/m tulip/Tulpe/f cactus/Kaktus/m plant/Pflanze/f",
        ("It is in bloom.", "{Er} blüht."),
        ("It needs more water.", "{Er} braucht mehr Wasser."),
        ("It has grown a lot.", "{Er} ist sehr gewachsen."),
        ("I planted it last year.", "Ich habe {ihn} letztes Jahr gepflanzt."),
        within_reach=True,
    ),
)
TOGETHER: tuple[Text, ...] = (
    ("The {e} was next to the {f}.", "{Der1} {N} war neben {dem3b} {M}."),
    ("Tom has a {e} and a {f}.", "Tom hat {einen4} {N} und {einen4b} {M}."),
    ("We talked about the {e} and the {f}.", "Wir sprachen über {den4} {N} und {den4b} {M}."),
    ("I like the {e} better than the {f}.", "Ich mag {den4} {N} lieber als {den4b} {M}."),
    ("Behind the {f} there was a {e}.", "Hinter {dem3b} {M} war {ein1} {N}."),
    ("He photographed the {e} and the {f}.", "Er hat {den4} {N} und {den4b} {M} fotografiert."),
    ("This is my {e} and that is my {f}.", "Das ist {mein1} {N} und das ist {mein1b} {M}."),
    ("I can see the {e}, but not the {f}.", "Ich kann {den4} {N} sehen, aber nicht {den4b} {M}."),
)
ACTIONS: tuple[Text, ...] = (
    ("The {e} sniffed at the {f}.", "{Der1} {N} hat an {dem3b} {M} geschnüffelt."),
    ("The {e} stole the {f}.", "{Der1} {N} hat {den4b} {M} gestohlen."),
    ("The {e} found the {f}.", "{Der1} {N} hat {den4b} {M} gefunden."),
    ("The {e} was looking at the {f}.", "{Der1} {N} sah {den4b} {M} an."),
    ("The {e} knocked over the {f}.", "{Der1} {N} hat {den4b} {M} umgeworfen."),
    ("The {e} was lying next to the {f}.", "{Der1} {N} lag neben {dem3b} {M}."),
    ("A {e} ran off with the {f}.", "{Ein1} {N} ist mit {dem3b} {M} davongelaufen."),
    ("Our {e} destroyed the {f}.", "{Unser1} {N} hat {den4b} {M} zerstört."),
    ("The {e} smelled the {f}.", "{Der1} {N} hat {den4b} {M} gerochen."),
    ("The {e} jumped over the {f}.", "{Der1} {N} ist über {den4b} {M} gesprungen."),
)
"""What an animal does with something."""
PLURALS: tuple[Text, ...] = (
    ("keys", "Schlüssel"), ("shoes", "Schuhe"), ("books", "Bücher"), ("children", "Kinder"), ("flowers", "Blumen"),
    ("plates", "Teller"), ("pictures", "Bilder"), ("students", "Studenten"), ("bags", "Taschen"), ("dogs", "Hunde"),
    ("letters", "Briefe"), ("tourists", "Touristen"), ("coins", "Münzen"), ("chairs", "Stühle"), ("cars", "Autos"),
)  # fmt: skip
BESIDE_PLURAL: tuple[Text, ...] = (
    ("The {p} were next to the {e}.", "Die {P} waren neben {dem3} {N}."),
    ("I saw the {p} and the {e}.", "Ich sah die {P} und {den4} {N}."),
    ("Look at the {p} and the {e}.", "Sieh dir die {P} und {den4} {N} an."),
    ("The {p} are for my parents, the {e} is for you.", "Die {P} sind für meine Eltern, {der1} {N} ist für dich."),
)
PERSONS: tuple[Text, ...] = (
    ("The girl", "Das Mädchen"), ("The boy", "Der Junge"), ("My aunt", "Meine Tante"), ("The old man", "Der alte Mann"),
    ("The child", "Das Kind"), ("The nurse", "Die Krankenschwester"), ("The teacher", "Der Lehrer"), ("Mary", "Maria"),
    ("The queen", "Die Königin"), ("The police officer", "Der Polizist"), ("My boss", "Mein Chef"), ("Tom", "Tom"),
    ("The doctor", "Die Ärztin"), ("Our neighbor", "Unser Nachbar"), ("The baby", "Das Baby"),
)  # fmt: skip
BESIDE_PERSON: tuple[Text, ...] = (
    ("{p} found the {e}.", "{P} fand {den4} {N}."),
    ("{p} had forgotten the {e}.", "{P} hatte {den4} {N} vergessen."),
    ("{p} was looking for the {e}.", "{P} suchte {den4} {N}."),
    ("{p} was standing next to the {e}.", "{P} stand neben {dem3} {N}."),
    ("{p} showed us the {e}.", "{P} zeigte uns {den4} {N}."),
    ("{p} bought a {e}.", "{P} kaufte {einen4} {N}."),
)
PLACES: tuple[Text, ...] = (
    ("in the kitchen", "in der Küche"), ("in the garden", "im Garten"), ("on the roof", "auf dem Dach"),
    ("in the cellar", "im Keller"), ("under the table", "unter dem Tisch"), ("on the stairs", "auf der Treppe"),
    ("in the office", "im Büro"), ("near the window", "am Fenster"), ("in front of the door", "vor der Tür"),
)  # fmt: skip
APART: tuple[Text, ...] = (
    ("The {e} was {p} and the {f} was {q}.", "{Der1} {N} war {P} und {der1b} {M} war {Q}."),
    ("The {f} is {q}, the {e} is {p}.", "{Der1b} {M} ist {Q}, {der1} {N} ist {P}."),
)
REPEATED: tuple[Text, ...] = (
    ("It had been {p} for days.", "{Er} war schon seit Tagen {P}."),
    ("I left it {p}.", "Ich habe {ihn} {P} gelassen."),
    ("It should not be {p}.", "{Er} sollte nicht {P} sein."),
    ("Why is it {p}?", "Warum ist {er} {P}?"),
)
Made = tuple[Text, Decided, Noun, Noun | None]
"""The sentence before, the one with "it", the noun that is meant, the other noun."""


def _both(noun: Noun, other: Noun) -> dict[str, str]:
    """Slots of the noun that is meant, and with a b those of the other."""
    first, second = slots(noun, ADJECTIVES[0]), slots(other, ADJECTIVES[0])
    return first | {"f": other.source, "M": other.target} | {f"{name}b": value for name, value in second.items()}


def by_selection(words: WordLists, numbers: random.Random) -> Made:
    ours, theirs = numbers.sample(words.classes, 2)
    noun = numbers.choice(ours.nouns)
    other = numbers.choice([other for other in theirs.nouns if other.gender != noun.gender])
    values = _both(*((noun, other) if numbers.random() < 0.5 else (other, noun)))
    frame = numbers.choice(TOGETHER)
    text = with_articles(frame[0].format(**values)), frame[1].format(**values)
    return text, it_frame(numbers, ours.predicates, "selection"), noun, other


def by_action(words: WordLists, numbers: random.Random) -> Made:
    """An animal and what it found; either can be meant."""
    animals, things = words.classes[0], numbers.choice([one for one in words.classes if one.within_reach])
    animal = numbers.choice(animals.nouns)
    thing = numbers.choice([thing for thing in things.nouns if thing.gender != animal.gender])
    values = _both(animal, thing)
    values |= {"Ein1": capitalized(values["ein1"]), "Unser1": capitalized(values["unser1"])}
    frame = numbers.choice(ACTIONS)
    text = with_articles(frame[0].format(**values)), frame[1].format(**values)
    if numbers.random() < 0.5:
        return text, it_frame(numbers, animals.predicates, "selection"), animal, thing
    return text, it_frame(numbers, things.predicates, "selection"), thing, animal


def by_number(words: WordLists, things: Sequence[Noun], numbers: random.Random) -> Made:
    noun, plural = numbers.choice(things), numbers.choice(words.plurals)
    return _beside(noun, {"p": plural[0], "P": plural[1]}, BESIDE_PLURAL, "number", words, numbers)


def by_animacy(words: WordLists, things: Sequence[Noun], numbers: random.Random) -> Made:
    noun, person = numbers.choice(things), numbers.choice(words.persons)
    return _beside(noun, {"p": person[0], "P": person[1]}, BESIDE_PERSON, "animacy", words, numbers)


def _beside(
    noun: Noun, values: dict[str, str], frames: Sequence[Text], kind: str, words: WordLists, numbers: random.Random
) -> Made:
    frame = numbers.choice(frames)
    filled = slots(noun, ADJECTIVES[0]) | values
    text = with_articles(frame[0].format(**filled)), frame[1].format(**filled)
    return text, it_frame(numbers, words.after, kind), noun, None


def by_repetition(words: WordLists, things: Sequence[Noun], numbers: random.Random) -> Made:
    noun = numbers.choice(things)
    other = numbers.choice([other for other in numbers.sample(list(things), min(len(things), 50))
                            if other.gender != noun.gender] or [noun])  # fmt: skip
    here, there = numbers.sample(words.places, 2)
    values = _both(noun, other) | {"p": here[0], "P": here[1], "q": there[0], "Q": there[1]}
    frame, repeated = numbers.choice(APART), numbers.choice(words.repeated)
    text = frame[0].format(**values), frame[1].format(**values)
    said = repeated[0].format(**values), repeated[1].replace("{P}", here[1])
    return text, it_frame(numbers, [said], "repetition"), noun, other


def with_articles(text: str) -> str:
    """a -> an before a vowel."""
    words = text.split(" ")
    for place in range(len(words) - 1):
        if words[place] in ("a", "A") and words[place + 1][:1] in "aeiou":
            words[place] += "n"
    return " ".join(words)
