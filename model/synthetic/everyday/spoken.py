"""Numbers and times of day in words: "thirty-four" is "vierunddreißig", "the third floor" is "der dritte Stock",
"half past nine" is "halb zehn"."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence

from num2words import num2words

from model.synthetic.context.words import capitalized

TIMES: Sequence[tuple[str, str]] = (
    ("The bus leaves at {}.", "Der Bus fährt um {} ab."),
    ("The train arrives at {}.", "Der Zug kommt um {} an."),
    ("The plane lands at {}.", "Das Flugzeug landet um {}."),
    ("I have an appointment at {}.", "Ich habe um {} einen Termin."),
    ("We are meeting at {}.", "Wir treffen uns um {}."),
    ("Please wake me up at {}.", "Bitte wecken Sie mich um {}."),
    ("Can you pick me up at {}?", "Kannst du mich um {} abholen?"),
    ("Please call me back at {}.", "Bitte rufen Sie mich um {} zurück."),
    ("The film begins at {}.", "Der Film beginnt um {}."),
    ("The meeting starts at {} tomorrow.", "Die Besprechung beginnt morgen um {}."),
    ("Does the market open at {}?", "Öffnet der Markt um {}?"),
    ("The shop closes at {}.", "Der Laden schließt um {}."),
    ("He came home at {}.", "Er kam um {} nach Hause."),
    ("I get up at {} every morning.", "Ich stehe jeden Morgen um {} auf."),
    ("The children go to bed at {}.", "Die Kinder gehen um {} ins Bett."),
    ("We have breakfast at {}.", "Wir frühstücken um {}."),
    ("My shift ends at {}.", "Meine Schicht endet um {}."),
    ("The doctor can see you at {}.", "Der Arzt kann Sie um {} empfangen."),
    ("I will be there at {}.", "Ich werde um {} da sein."),
    ("They left the house at {}.", "Sie verließen um {} das Haus."),
    ("Is it all right for you at {}?", "Passt es dir um {}?"),
    ("What happened at {} last night?", "Was ist gestern Abend um {} passiert?"),
    ("I usually take the tram at {}.", "Ich nehme meistens um {} die Straßenbahn."),
    ("It is {}.", "Es ist {}."),
    ("It's already {}.", "Es ist schon {}."),
    ("It was almost {} when they came.", "Es war fast {}, als sie kamen."),
    ("I have been waiting since {}.", "Ich warte seit {}."),
    ("We can stay until {}.", "Wir können bis {} bleiben."),
    ("Please come before {}.", "Kommen Sie bitte vor {}."),
    ("{}", "{}"),
)

FRAMES: Mapping[str, Sequence[tuple[str, str]]] = {
    "age": (
        ("She is {} years old.", "Sie ist {} Jahre alt."),
        ("He is {}.", "Er ist {}."),
        ("My father turned {} yesterday.", "Mein Vater ist gestern {} geworden."),
        ("He died at the age of {}.", "Er starb im Alter von {} Jahren."),
        ("They have been married for {} years.", "Sie sind seit {} Jahren verheiratet."),
        ("{} percent of the voters agreed.", "{} Prozent der Wähler stimmten zu."),
        ("The class has {} pupils.", "Die Klasse hat {} Schüler."),
        ("The journey takes {} hours.", "Die Reise dauert {} Stunden."),
        ("Read chapter {}.", "Lesen Sie Kapitel {}."),
        ("{}", "{}"),
    ),
    "number": (
        ("There were {} guests at the party.", "Auf der Feier waren {} Gäste."),
        ("It costs {} euros.", "Es kostet {} Euro."),
        ("We waited for {} minutes.", "Wir haben {} Minuten gewartet."),
        ("I have read {} books this year.", "Ich habe dieses Jahr {} Bücher gelesen."),
        ("{} people were injured.", "{} Menschen wurden verletzt."),
        ("He scored {} points.", "Er erzielte {} Punkte."),
        ("The school has {} pupils.", "Die Schule hat {} Schüler."),
        ("She won {} dollars.", "Sie hat {} Dollar gewonnen."),
        ("{}", "{}"),
    ),
    "ordinal": (
        ("Today is my {} birthday.", "Heute ist mein {}r Geburtstag."),
        ("He celebrated his {} birthday.", "Er feierte seinen {}n Geburtstag."),
        ("We live on the {} floor.", "Wir wohnen im {}n Stock."),
        ("It was built in the {} century.", "Es wurde im {}n Jahrhundert gebaut."),
        ("I am here for the {} time.", "Ich bin zum {}n Mal hier."),
        ("The {} chapter is the best.", "Das {} Kapitel ist das beste."),
        ("The {} question was difficult.", "Die {} Frage war schwierig."),
        ("It says so on the {} page.", "Das steht auf der {}n Seite."),
        ("His {} attempt failed.", "Sein {}r Versuch scheiterte."),
        ("Delete the {} line.", "Löschen Sie die {} Zeile."),
        ("Choose the {} option.", "Wählen Sie die {} Option."),
        ("Today is the {} of May.", "Heute ist der {} Mai."),
        ("She was the {} in line.", "Sie war die {} in der Schlange."),
    ),
    "decade": (
        ("That was in the {}.", "Das war in den {}n."),
        ("He was born in the {}.", "Er wurde in den {}n geboren."),
        ("I like the music of the {}.", "Ich mag die Musik der {}."),
    ),
    "clock": TIMES,
    "half hour": TIMES,
}


def spoken(amount: int, seed: int) -> Iterator[tuple[str, str]]:
    """(English, German): `amount` sentences of every kind in FRAMES."""
    for kind, frames in FRAMES.items():
        rng = random.Random(f"{seed}/{kind}")
        for _ in range(amount):
            (english, german), (source, target) = rng.choice(frames), DRAWS[kind](rng)
            yield capitalized(english.format(source)), capitalized(german.format(target))


def _age(rng: random.Random) -> tuple[str, str]:
    """From 2 to 99."""
    return _number_words(rng.choice((rng.randrange(2, 100), rng.randrange(13, 100))), "a")


def _number(rng: random.Random) -> tuple[str, str]:
    """From 2 to 9,000."""
    number = rng.choice((rng.randrange(2, 100), rng.randrange(100, 1000, 10), rng.randrange(1000, 9001, 1000)))
    return _number_words(number, rng.choice(("one", "a")))


def _number_words(number: int, one: str) -> tuple[str, str]:
    """`one` is how a hundred and a thousand begin in English; in German they begin with neither."""
    english, german = num2words(number, lang="en"), num2words(number, lang="de")
    if number // 100 == 1 or number // 1000 == 1:
        english, german = english.replace("one", one, 1), german.removeprefix("ein")
    return english, german


def _ordinal(rng: random.Random) -> tuple[str, str]:
    """The German one as behind "die"."""
    number = rng.choice((rng.randrange(1, 13), rng.randrange(1, 32), rng.randrange(13, 100)))
    return num2words(number, lang="en", to="ordinal"), num2words(number, lang="de", to="ordinal")


def _decade(rng: random.Random) -> tuple[str, str]:
    tens = rng.randrange(20, 100, 10)
    century = rng.choice(("19", ""))
    in_words = (num2words(tens, lang="en").removesuffix("y") + "ies", f"{capitalized(num2words(tens, lang='de'))}er")
    return rng.choice((in_words, (f"{century}{tens}s", f"{century}{tens}er")))


def _clock(rng: random.Random) -> tuple[str, str]:
    """As people say it: the hour, and quarters and minutes from there."""
    hour = rng.randrange(1, 13)
    here, there = (tuple(num2words(each, lang=lang) for lang in ("en", "de")) for each in (hour, hour % 12 + 1))
    minutes = rng.choice((5, 10, 20))
    few = tuple(num2words(minutes, lang=lang) for lang in ("en", "de"))
    quarter = rng.choice(("quarter", "a quarter"))
    ways = (
        (f"{here[0]} o'clock", f"{'ein' if hour == 1 else here[1]} Uhr"),
        (f"{quarter} past {here[0]}", f"Viertel nach {here[1]}"),
        (f"{quarter} to {there[0]}", f"Viertel vor {there[1]}"),
        (f"{few[0]} past {here[0]}", f"{few[1]} nach {here[1]}"),
        (f"{few[0]} to {there[0]}", f"{few[1]} vor {there[1]}"),
    )
    return rng.choice(ways)


def _half_hour(rng: random.Random) -> tuple[str, str]:
    """Drawn by themselves: German counts them from the hour that comes, and a model has to see it often to learn it."""
    hour = rng.randrange(1, 13)
    return f"half past {num2words(hour, lang='en')}", f"halb {num2words(hour % 12 + 1, lang='de')}"


DRAWS: Mapping[str, Callable[[random.Random], tuple[str, str]]] = {
    "age": _age,
    "number": _number,
    "ordinal": _ordinal,
    "decade": _decade,
    "clock": _clock,
    "half hour": _half_hour,
}
