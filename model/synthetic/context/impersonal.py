"""Made sentences with a pleonastic "it" ("It is easy to forget a name.") or one that means an event ("It made Tom
angry."). German says "es" in all of them, whatever nouns stood before. Real pairs have them too, but few, and seldom
after a sentence whose nouns could be meant."""

import random
import re
from collections.abc import Mapping

from model.synthetic.context.antecedents import Text
from model.synthetic.context.frames import pronouns
from model.synthetic.context.german import GENDERS
from model.synthetic.context.it import Decided, Reference
from model.synthetic.context.wordlists import WordLists

EVENT: tuple[Text, ...] = (
    ("It made {who} {mood}.", "{Er} hat {wen} {gestimmt} gemacht."),
    ("It makes me {mood}.", "{Er} macht mich {gestimmt}."),
    ("It took {while}.", "{Er} hat {dauer} gedauert."),
    ("It only lasted {while}.", "{Er} dauerte nur {dauer}."),
    ("It happened {when}.", "{Er} ist {wann} passiert."),
    ("It happened so quickly.", "{Er} geschah so schnell."),
    ("It could happen again.", "{Er} könnte wieder passieren."),
    ("It must never happen again.", "{Er} darf nie wieder vorkommen."),
    ("How did it happen?", "Wie ist {er} passiert?"),
    ("When did it happen?", "Wann ist {er} passiert?"),
    ("It caused {trouble}.", "{Er} verursachte {ärger}."),
    ("It led to {trouble}.", "{Er} führte zu {ärger3}."),
    ("It ended {how}.", "{Er} endete {wie}."),
    ("It began {when}.", "{Er} begann {wann}."),
    ("It was {a thing}.", "{Er} war {ein Ding}."),
    ("It was not {a thing}.", "{Er} war kein{n Ding}."),
    ("I think it was {a thing}.", "Ich glaube, {er} war {ein Ding}."),
    ("{Who} says that it was {a thing}.", "{Wer} sagt, dass {er} {ein Ding} war."),
    ("It surprised {who}.", "{Er} hat {wen} überrascht."),
    ("It scared {who}.", "{Er} hat {wen} erschreckt."),
    ("It did not surprise {who}.", "{Er} hat {wen} nicht überrascht."),
    ("It ruined the whole day.", "{Er} hat den ganzen Tag verdorben."),
    ("It was all my fault.", "{Er} war alles meine Schuld."),
    ("It changed everything.", "{Er} hat alles verändert."),
    ("It meant that we had to wait.", "{Er} bedeutete, dass wir warten mussten."),
    ("It went on for {while}.", "{Er} ging {dauer} so weiter."),
    ("I had not expected it.", "Ich hatte {ihn} nicht erwartet."),
    ("{Who} did it on purpose.", "{Wer} hat {ihn} mit Absicht getan."),
    ("Why did you do it?", "Warum hast du {ihn} getan?"),
    ("At first I could not believe it.", "Zuerst konnte ich {ihn} nicht glauben."),
    ("Nobody could explain it.", "Niemand konnte {ihn} erklären."),
    ("I only noticed it later.", "Ich habe {ihn} erst später bemerkt."),
    ("{Who} regrets it now.", "{Wer} bereut {ihn} jetzt."),
)  # fmt: skip
PLEONASTIC: tuple[Text, ...] = (
    ("It is {easy} to {do}.", "{Er} ist {leicht}, {zu tun}."),
    ("It was {easy} to {do}.", "{Er} war {leicht}, {zu tun}."),
    ("It is not {easy} to {do}.", "{Er} ist nicht {leicht}, {zu tun}."),
    ("Is it {easy} to {do}?", "Ist {er} {leicht}, {zu tun}?"),
    ("It would be {easy} to {do}.", "{Er} wäre {leicht}, {zu tun}."),
    ("It is {clear} that {clause}.", "{Er} ist {klar}, dass {satz}."),
    ("It was {clear} that {clause}.", "{Er} war {klar}, dass {satz}."),
    ("It turned out that {clause}.", "{Er} stellte sich heraus, dass {satz}."),
    ("It seems to me that {clause}.", "{Er} scheint mir, dass {satz}."),
    ("It looks as if {clause}.", "{Er} sieht so aus, als ob {satz}."),
    ("It is said that {clause}.", "{Er} heißt, dass {satz}."),
    ("It does not matter that {clause}.", "{Er} macht nichts, dass {satz}."),
    ("It was {weather}.", "{Er} war {wetter}."),
    ("It is {weather} today.", "Heute ist {er} {wetter}."),
    ("It was getting {weather}.", "{Er} wurde {wetter}."),
    ("It had been snowing {when}.", "{Er} hatte {wann} geschneit."),
    ("It rained {when}.", "{Er} hat {wann} geregnet."),
    ("It started to snow.", "{Er} fing an zu schneien."),
    ("It is {hour}.", "{Er} ist {uhr}."),
    ("It was already {hour}.", "{Er} war schon {uhr}."),
    ("It is time to {do}.", "{Er} ist Zeit, {zu tun}."),
    ("It is a long way from here.", "{Er} ist weit von hier."),
    ("It has been {while} since we met.", "{Er} ist {dauer} her, dass wir uns trafen."),
    ("It takes {while} to get there.", "{Er} dauert {dauer}, dorthin zu kommen."),
    ("It depends on {who}.", "{Er} hängt von {wem} ab."),
    ("It was {who} who called.", "{Er} war {wer}, der angerufen hat."),
    ("It is no use asking {who}.", "{Er} hat keinen Sinn, {wen} zu fragen."),
    ("It is up to {who}.", "{Er} liegt an {wem}."),
)
CHOICES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "who Who wen wem wer Wer": (
        ("Tom", "Tom", "Tom", "Tom", "Tom", "Tom"),
        ("my brother", "My brother", "meinen Bruder", "meinem Bruder", "mein Bruder", "Mein Bruder"),
        ("our teacher", "Our teacher", "unseren Lehrer", "unserem Lehrer", "unser Lehrer", "Unser Lehrer"),
        ("the doctor", "The doctor", "den Arzt", "dem Arzt", "der Arzt", "Der Arzt"),
        ("your boss", "Your boss", "deinen Chef", "deinem Chef", "dein Chef", "Dein Chef"),
        ("Peter", "Peter", "Peter", "Peter", "Peter", "Peter"),
    ),
    "mood gestimmt": (
        ("angry", "wütend"), ("happy", "glücklich"), ("sad", "traurig"), ("nervous", "nervös"),
        ("curious", "neugierig"),
        ("tired", "müde"), ("proud", "stolz"), ("famous", "berühmt"),
    ),
    "while dauer": (
        ("a minute", "eine Minute"), ("ten minutes", "zehn Minuten"), ("two hours", "zwei Stunden"),
        ("a whole week", "eine ganze Woche"), ("three days", "drei Tage"), ("a year", "ein Jahr"),
    ),
    "when wann": (
        ("yesterday", "gestern"), ("last night", "letzte Nacht"), ("this morning", "heute Morgen"),
        ("two days ago", "vor zwei Tagen"), ("in the night", "in der Nacht"), ("last week", "letzte Woche"),
        ("on Monday", "am Montag"), ("at noon", "am Mittag"),
    ),
    "trouble ärger ärger3": (
        ("a lot of trouble", "viel Ärger", "viel Ärger"), ("an argument", "einen Streit", "einem Streit"),
        ("great damage", "großen Schaden", "großem Schaden"), ("many questions", "viele Fragen", "vielen Fragen"),
        ("a fire", "einen Brand", "einem Brand"), ("confusion", "Verwirrung", "Verwirrung"),
        ("a long delay", "eine lange Verspätung", "einer langen Verspätung"), ("panic", "Panik", "Panik"),
    ),
    "how wie": (("badly", "schlecht"), ("well", "gut"), ("in tears", "in Tränen"), ("in court", "vor Gericht")),
    "a thing|ein Ding|n Ding": (
        ("a mistake", "ein Fehler", " Fehler"), ("an accident", "ein Unfall", " Unfall"),
        ("a coincidence", "ein Zufall", " Zufall"), ("a joke", "ein Scherz", " Scherz"),
        ("a disaster", "eine Katastrophe", "e Katastrophe"), ("a relief", "eine Erleichterung", "e Erleichterung"),
        ("a miracle", "ein Wunder", " Wunder"), ("a crime", "ein Verbrechen", " Verbrechen"),
        ("a trick", "ein Trick", " Trick"), ("a warning", "eine Warnung", "e Warnung"),
        ("a misunderstanding", "ein Missverständnis", " Missverständnis"), ("a nightmare", "ein Albtraum", " Albtraum"),
        ("a great success", "ein großer Erfolg", " großer Erfolg"),
        ("a strange sight", "ein seltsamer Anblick", " seltsamer Anblick"),
        ("an exciting moment", "ein spannender Moment", " spannender Moment"),
        ("a bad sign", "ein schlechtes Zeichen", " schlechtes Zeichen"),
    ),
    "easy leicht": (
        ("easy", "leicht"), ("difficult", "schwierig"), ("dangerous", "gefährlich"), ("important", "wichtig"),
        ("stupid", "dumm"), ("better", "besser"), ("impossible", "unmöglich"), ("nice", "schön"), ("wrong", "falsch"),
        ("useless", "nutzlos"), ("forbidden", "verboten"), ("fun", "lustig"),
    ),
    "do|zu tun": (
        ("go home", "nach Hause zu gehen"), ("wait", "zu warten"), ("forget a name", "einen Namen zu vergessen"),
        ("learn a language", "eine Sprache zu lernen"), ("swim here", "hier zu schwimmen"),
        ("help others", "anderen zu helfen"),
        ("ask first", "zuerst zu fragen"), ("sleep outside", "draußen zu schlafen"),
        ("tell the truth", "die Wahrheit zu sagen"),
        ("stay in bed", "im Bett zu bleiben"), ("start again", "von vorn anzufangen"),
        ("find work", "Arbeit zu finden"),
    ),
    "clear klar": (
        ("clear", "klar"), ("strange", "seltsam"), ("possible", "möglich"), ("obvious", "offensichtlich"),
        ("good", "gut"),
        ("a pity", "schade"), ("unlikely", "unwahrscheinlich"), ("well known", "bekannt"),
    ),
    "clause satz": (
        ("nobody was at home", "niemand zu Hause war"), ("we had no time", "wir keine Zeit hatten"),
        ("Tom was right", "Tom recht hatte"), ("everyone knew", "alle Bescheid wussten"),
        ("the others had left", "die anderen gegangen waren"), ("I was too late", "ich zu spät war"),
        ("they were friends", "die beiden Freunde waren"), ("you forgot something", "du etwas vergessen hast"),
    ),
    "weather wetter": (
        ("cold", "kalt"), ("dark", "dunkel"), ("warm", "warm"), ("foggy", "neblig"), ("late", "spät"),
        ("windy", "windig"),
        ("quiet", "still"), ("hot", "heiß"),
    ),
    "hour uhr": (
        ("midnight", "Mitternacht"), ("noon", "Mittag"), ("Sunday", "Sonntag"), ("eight o'clock", "acht Uhr"),
        ("half past seven", "halb acht"), ("spring", "Frühling"),
    ),
}  # fmt: skip
_SLOT = re.compile(r"\{([^}]*)\}")


def impersonal(reference: Reference, lists: WordLists, numbers: random.Random) -> Decided:
    """A made sentence of the kind "pleonastic" or "event", with the right answer "es" and the two wrong ones."""
    frames = lists.event if reference == "event" else lists.pleonastic
    source, target = numbers.choices(frames, [1 + 3 * source.count("{") for source, _ in frames])[0]
    words: dict[str, str] = {}
    for names, choices in lists.choices.items():
        words |= dict(zip(names.split("|" if "|" in names else " "), numbers.choice(choices), strict=True))
    targets = {gender: _filled(target, words | pronouns(gender)) for gender in GENDERS}
    return Decided(_filled(source, words), targets, reference)


def _filled(frame: str, words: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: words[slot[1]], frame)
