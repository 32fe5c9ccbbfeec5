"""Sentences as people type them in a hurry: "i dont know", "thx", "schoene gruesse", a letter too few, all in
capitals. The translation is that of the original sentence."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence

from model.data.corpus import SentencePair
from model.synthetic.context.words import listed

SHORTENED = listed(
    "don't doesn't didn't can't couldn't won't wouldn't isn't aren't wasn't weren't haven't hasn't hadn't shouldn't "
    "mustn't I'm you're they're it's that's what's where's who's how's there's here's he's she's I've you've we've "
    "they've you'll they'll it'll I'd you'd they'd he'd"
)
"""Contractions that are no other word without the apostrophe, unlike "we're"."""
APOSTROPHE = re.compile(rf"\b({'|'.join(SHORTENED)})\b".replace("'", "['\u2019]"), re.IGNORECASE)
SHORT: Mapping[str, Mapping[str, str]] = {
    "en": {
        "please": "pls", "thanks": "thx", "you": "u", "tomorrow": "tmrw", "because": "cuz", "people": "ppl",
        "tonight": "tonite", "your": "ur", "okay": "ok", "though": "tho", "going to": "gonna", "want to": "wanna",
    },
    "de": {"und": "u", "nicht": "nich", "ist": "is", "vielleicht": "vllt"},
}  # fmt: skip
ASCII = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}
LAST_MARK = re.compile(r"[.!?]+$")
LONG_WORD = re.compile(r"\b[^\W\d_]{5,}\b")
IN_CAPITALS = 0.08
"""Share of sentences in capitals, on both sides."""
SHORT_ENOUGH = 100
"""Longest source, in characters."""


def typed(pairs: Sequence[SentencePair], language: str, amount: int, seed: int) -> Iterator[tuple[str, str]]:
    """(source, target): `amount` sources in `language`, typed, those with an apostrophe more often than others."""
    rng = random.Random(f"{seed}/typed")
    short = [pair for pair in pairs if len(pair.source) <= SHORT_ENOUGH]
    shortened = [pair for pair in short if language == "en" and APOSTROPHE.search(pair.source)]
    for _ in range(amount):
        pair = rng.choice(shortened if shortened and rng.random() < 0.5 else short)
        source, target = _words(pair.source, language, rng), pair.target
        if rng.random() < 0.5 and LAST_MARK.search(source) and LAST_MARK.search(target):
            source, target = LAST_MARK.sub("", source), LAST_MARK.sub("", target)
        if rng.random() < IN_CAPITALS:
            source, target = pair.source.upper(), pair.target.upper()
        if source != pair.source:
            yield source, target


def _words(text: str, language: str, rng: random.Random) -> str:
    if language == "en":
        text = APOSTROPHE.sub(lambda match: re.sub("['\u2019]", "", match[0]), text)
    if rng.random() < 0.5:
        text = text.lower()
    if language == "de" and rng.random() < 0.4:
        text = "".join(ASCII.get(letter, letter) for letter in text)
    if rng.random() < 0.2:
        for word, short in SHORT.get(language, {}).items():
            text = re.sub(rf"\b{word}\b", short, text)
    return with_typo(text, rng) if rng.random() < 0.3 else text


def with_typo(text: str, rng: random.Random) -> str:
    """The text with one typing error: two letters of a long word exchanged, one left out or doubled, not at its
    ends."""
    words = list(LONG_WORD.finditer(text))
    if not words:
        return text
    word = rng.choice(words)
    place = rng.randrange(word.start() + 1, word.end() - 2)
    letters = text[place : place + 2]
    return text[:place] + rng.choice((letters[::-1], letters[1], letters[0] + letters)) + text[place + 2 :]
