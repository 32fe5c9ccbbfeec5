"""Made sentences with a slot for a noun, for nouns that real pairs have too seldom: "I sold the NOUN. It was ADJ."

In the German frames, `der1 den4 dem3` and `ein1 einen4 einem3` are determiners in their case (1 nominative, 3 dative,
4 accusative), `er` and `ihn` pronouns in the gender of the noun.
"""

import random
from collections.abc import Sequence

from model.synthetic.context.antecedents import Text
from model.synthetic.context.german import GENDERS, PRONOUNS, Gender, determiner
from model.synthetic.context.it import Decided
from model.synthetic.context.nouns import Noun
from model.synthetic.context.words import capitalized, listed

ADJECTIVES: tuple[Text, ...] = tuple(
    (source, target)
    for source, _, target in (
        pair.partition(":")
        for pair in listed(
            "heavy:schwer light:leicht broken:kaputt expensive:teuer cheap:billig new:neu old:alt red:rot"
            " green:grün black:schwarz white:weiß blue:blau yellow:gelb brown:braun grey:grau beautiful:schön"
            " ugly:hässlich clean:sauber dirty:schmutzig wet:nass dry:trocken small:klein long:lang short:kurz"
            " wide:breit narrow:schmal round:rund soft:weich strong:stark useful:nützlich dangerous:gefährlich"
            " famous:berühmt popular:beliebt modern:modern valuable:wertvoll perfect:perfekt gone:weg ready:fertig"
            " huge:riesig tiny:winzig fast:schnell slow:langsam loud:laut practical:praktisch safe:sicher"
            " thick:dick thin:dünn available:verfügbar free:frei interesting:interessant special:besonders"
            " young:jung cold:kalt warm:warm empty:leer full:voll simple:einfach"
        )
    )
)
BEFORE: tuple[Text, ...] = (
    ("I bought {a}.", "Ich habe {einen4} {N} gekauft."),
    ("We sold the {e}.", "Wir haben {den4} {N} verkauft."),
    ("Tom found {a}.", "Tom hat {einen4} {N} gefunden."),
    ("She lost the {e}.", "Sie hat {den4} {N} verloren."),
    ("He forgot his {e}.", "Er hat seine{n4} {N} vergessen."),
    ("Do you need the {e}?", "Brauchst du {den4} {N}?"),
    ("I have {a}.", "Ich habe {einen4} {N}."),
    ("This is my {e}.", "Das ist {mein1} {N}."),
    ("Where is the {e}?", "Wo ist {der1} {N}?"),
    ("What happened to the {e}?", "Was ist mit {dem3} {N} passiert?"),
    ("We talked about the {e}.", "Wir haben über {den4} {N} gesprochen."),
    ("I dreamed of {a}.", "Ich habe von {einem3} {N} geträumt."),
    ("That is not your {e}.", "Das ist nicht {dein1} {N}."),
    ("The {e} was on the list.", "{Der1} {N} stand auf der Liste."),
    ("My friend gave me {a}.", "Mein Freund hat mir {einen4} {N} gegeben."),
    ("There is {a} in the room.", "Im Zimmer ist {ein1} {N}."),
    ("Look at this {e}!", "Sieh dir {diesen4} {N} an!"),
    ("They wanted to see our {e}.", "Sie wollten {unseren4} {N} sehen."),
    ("Is there {a} here?", "Gibt es hier {einen4} {N}?"),
    ("The {e} is {adjective}.", "{Der1} {N} ist {adjektiv}."),
    ("Nobody noticed the {e}.", "Niemand hat {den4} {N} bemerkt."),
    ("He described the {e} to us.", "Er hat uns {den4} {N} beschrieben."),
)
AFTER: tuple[Text, ...] = (
    ("It is {adjective}.", "{Er} ist {adjektiv}."),
    ("It was {adjective}.", "{Er} war {adjektiv}."),
    ("It's very {adjective}.", "{Er} ist sehr {adjektiv}."),
    ("It isn't {adjective}.", "{Er} ist nicht {adjektiv}."),
    ("It wasn't {adjective} enough.", "{Er} war nicht {adjektiv} genug."),
    ("Is it {adjective}?", "Ist {er} {adjektiv}?"),
    ("Was it too {adjective}?", "War {er} zu {adjektiv}?"),
    ("I think it is {adjective}.", "Ich glaube, {er} ist {adjektiv}."),
    ("Everyone says that it is {adjective}.", "Alle sagen, dass {er} {adjektiv} ist."),
    ("It belongs to my uncle.", "{Er} gehört meinem Onkel."),
    ("It disappeared yesterday.", "{Er} ist gestern verschwunden."),
    ("It cost a lot of money.", "{Er} hat viel Geld gekostet."),
    ("Where did it come from?", "Woher kam {er}?"),
    ("It comes from Italy.", "{Er} kommt aus Italien."),
    ("It reminds me of my childhood.", "{Er} erinnert mich an meine Kindheit."),
    ("It looks {adjective}.", "{Er} sieht {adjektiv} aus."),
    ("Maybe it is over there.", "Vielleicht ist {er} dort drüben."),
    ("I don't need it.", "Ich brauche {ihn} nicht."),
    ("Have you seen it?", "Hast du {ihn} gesehen?"),
    ("Nobody wants it.", "Niemand will {ihn}."),
    ("We should sell it.", "Wir sollten {ihn} verkaufen."),
    ("I can't find it anywhere.", "Ich kann {ihn} nirgends finden."),
    ("Tom gave it to me.", "Tom hat {ihn} mir gegeben."),
    ("She took it with her.", "Sie hat {ihn} mitgenommen."),
    ("Please bring it back.", "Bitte bring {ihn} zurück."),
    ("My brother found it.", "Mein Bruder hat {ihn} gefunden."),
    ("I will never forget it.", "Ich werde {ihn} nie vergessen."),
    ("Did they use it?", "Haben sie {ihn} benutzt?"),
)


def slots(noun: Noun, adjective: Text) -> dict[str, str]:
    """What fills a frame."""
    article = "an" if noun.source[0] in "aeiou" else "a"
    filled = {"e": noun.source, "a": f"{article} {noun.source}", "N": noun.target}
    filled |= {"adjective": adjective[0], "adjektiv": adjective[1]}
    for name, stem in {
        "der": "der",
        "ein": "ein",
        "mein": "mein",
        "dein": "dein",
        "dies": "dies",
        "unser": "unser",
    }.items():
        for number, ending, case in (("1", "", "nominative"), ("3", "em", "dative"), ("4", "en", "accusative")):
            key = {"der1": "der1", "der3": "dem3", "der4": "den4"}.get(name + number, name + ending + number)
            filled[key] = determiner(stem, noun.gender, case)  # type: ignore[arg-type]  # the cases above
    filled["n4"] = determiner("sein", noun.gender, "accusative").removeprefix("sein").removeprefix("e")
    filled["Der1"] = capitalized(filled["der1"])
    return filled | pronouns(noun.gender)


def pronouns(gender: Gender) -> dict[str, str]:
    spoken = {"er": PRONOUNS["nominative"][gender], "ihn": PRONOUNS["accusative"][gender]}
    return spoken | {"Er": capitalized(spoken["er"])}


def fill(frame: Text, values: dict[str, str]) -> Text:
    return frame[0].format(**values), frame[1].format(**values)


def noun_frame(noun: Noun, numbers: random.Random) -> Text:
    """A sentence with the noun."""
    return fill(numbers.choice(BEFORE), slots(noun, numbers.choice(ADJECTIVES)))


def it_frame(numbers: random.Random, frames: Sequence[Text], kind: str = "frame") -> Decided:
    """A sentence with "it"."""
    source, target = numbers.choice(frames)
    adjective, adjektiv = numbers.choice(ADJECTIVES)
    words = {"adjective": adjective, "adjektiv": adjektiv}
    targets = {gender: target.format(**words, **pronouns(gender)) for gender in GENDERS}
    return Decided(source.format(**words), targets, kind)
