"""Words in capitals as a model reads them: in small letters, unless they are acronyms.

A vocabulary knows which is which: it spells a word with one piece or a few in small letters, or with a capital initial,
and an acronym hardly better in small letters than in capitals ("open", "O PEN"; "h d mi", "H D M I").
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from server.runtime.checkpoints import checkpoint
from server.text.base.pieces import Pieces
from server.text.base.words import Place

SHORT = 4
"""Letters of a word that is no acronym only if the vocabulary has it as one piece."""
LONGEST = 40
"""Letters of a word whose spelling is compared; longer words are written in small letters."""
KNOWN_PIECES = 2
"""Pieces of a word, at most, from whose number its spelling follows."""
MOST_SHARP = 2
"""Double s of a word, at most, that may stand for a sharp s."""

_LABELS = frozenset({
    "exit", "quit", "yes", "menu", "zoom", "back", "next", "lost", "sold", "sale", "push", "pull", "help", "load",
    "edit", "jump", "hold", "send", "slow", "warm", "cold", "cool", "dial", "undo", "redo", "copy", "cut", "auto",
    "main", "über", "nein", "halt", "heiß", "kalt", "voll", "leer", "weg", "zoll", "tor", "rot", "grün",
    "blau", "gelb",
})  # fmt: skip
"""Short words of labels that a small vocabulary may lack."""
_ACRONYMS = frozenset({
    "US", "UN", "EU", "AI", "PM", "OK", "TV", "ID", "LED", "RAM", "ROM", "SIM", "PIN", "CAD", "ARM", "DOM", "SAP",
    "AG", "IG", "DIN", "ALT", "ESC", "TAB", "GET", "PUT", "POST", "PATCH", "HEAD", "NULL", "TRUE", "FALSE", "SELECT",
    "INSERT", "UPDATE", "WHERE", "JOIN", "UNESCO", "UNICEF", "ASCII", "COVID", "HTTPS",
})  # fmt: skip
"""Acronyms and names of code that are spelled as words are."""
_PRONOUNS = frozenset({"IT", "WHO", "AM"})
"""Acronyms in a sentence, words where everything is in capitals."""
_NOUN = re.compile(r"(?:ung|heit|keit|schaft|tion|tät|gang|[dfgktz]er)\Z")
_NO_NOUN = re.compile(r"(?:en|t|s|ig|em|lich|isch|bar|end)\Z")
"""Ends of German words with a capital initial and without."""

_INITIAL = re.compile(r"[^\w'\u2019]*+([^\W\d_])")
_FIRST_WORD = re.compile(r"[^\w'\u2019]*+([^\W\d_]++)(?![\d_])")
_WORD = re.compile(r"[^\W\d_]++(?:['\u2019][^\W\d_]++)*+")
_TWO_CAPITALS = re.compile(r"[A-Z]{2}")
"""What every word of ASCII letters has that is written in small letters or put right."""
_WHOLE_WORD = re.compile(r"(?<![\w\-\u2010\u2011'\u2019.])[^\W\d_]{2,}+(?![\w\-\u2010\u2011'\u2019]|\.\w)")


@dataclass(frozen=True)
class Casing:
    """How words in capitals are written in small letters. Without a vocabulary every word of at least five letters is,
    and no word in a sentence of small letters."""

    pieces: Pieces | None = None
    lowers_emphasis: bool = field(default=False)
    """Whether single words in capitals are written in small letters too; their translations can be found again."""

    @property
    def language(self) -> str:
        """The code of the vocabulary's language, "" for any."""
        return "" if self.pieces is None else self.pieces.language

    def lowered(self, word: str, in_capitals: bool) -> str | None:
        """A word in capitals in small letters, None for an acronym. `in_capitals`: so is its whole sentence, in which
        any word that is better spelled so is no acronym."""
        if self.pieces is None or len(word) > LONGEST:
            return word.lower() if len(word) > SHORT else None
        if word in _ACRONYMS or (word in _PRONOUNS and not in_capitals):
            return None
        small, num_capitals = spelled(self.pieces, word), self.pieces.num_pieces(word)
        is_better = self.pieces.num_pieces(small) < num_capitals
        return small if is_better and in_capitals else small if self._is_word(word, small) else None

    def _is_word(self, word: str, small: str) -> bool:
        """Whether a word in capitals is certainly no acronym; `small` is the same in small letters."""
        assert self.pieces is not None
        if len(word) > SHORT:
            return _is_better_spelled(self.pieces, small, word)
        is_common = self.pieces.num_pieces(word) > 1 or small.islower()
        return small.lower() in _LABELS or (self.pieces.num_pieces(small) == 1 and is_common)

    def all_lowered(self, texts: Sequence[str]) -> list[str] | None:
        """The texts of a sentence with their words in small letters; None if they are not all in capitals, or have
        acronyms only, or capitals cannot be made from their small letters again."""
        text = "".join(texts)
        if not text.isupper() or text.lower().upper() != text:
            return None
        if self.pieces is None:
            return [part.lower() for part in texts] if sum(map(str.isalpha, text)) > SHORT else None
        is_lowered = False

        def lower(match: re.Match[str]) -> str:
            nonlocal is_lowered
            checkpoint()
            word = match[0]
            if len(word) == 1:
                return word if word == "I" else word.lower()
            small = self.lowered(word, in_capitals=True)
            is_lowered = is_lowered or (small is not None and (len(word) > LONGEST or self._is_word(word, small)))
            return word if small is None else small

        lowered = [_WORD.sub(lower, part) for part in texts]
        return lowered if is_lowered else None

    def with_words_lowered(self, text: str) -> tuple[str, list[Place]]:
        """A text with its single words in capitals in small letters, and their places in `text`. Words with a capital
        too many, such as "HEllo", are put right."""
        if self.pieces is None or (text.isascii() and not _TWO_CAPITALS.search(text)):
            return text, []
        places: list[Place] = []

        def lower(match: re.Match[str]) -> str:
            checkpoint()
            word = match[0]
            if self.lowers_emphasis and word.isupper():
                small = self.lowered(word, in_capitals=False)
                if small is not None:
                    places.append(match.span())
                return word if small is None else small
            return self.repaired(word) or word

        return _WHOLE_WORD.sub(lower, text), places

    def repaired(self, word: str) -> str | None:
        """ "Hello" for "HEllo" and "hELLO"; None for other words, and where the vocabulary does not know the word."""
        has_two = word[:2].isupper() and word[2:].islower()
        is_inverted = word[:1].islower() and word[1:].isupper()
        if self.pieces is None or not SHORT <= len(word) <= LONGEST or not (has_two or is_inverted):
            return None
        title = word.capitalize()
        return title if _is_better_spelled(self.pieces, title, word) else None


def spelled(pieces: Pieces, word: str) -> str:
    """How the vocabulary knows a word in capitals best: in small letters, with a capital initial, or with a sharp s."""
    lower = word.lower()
    if pieces.language != "de":
        return min(lower, lower.capitalize(), key=lambda form: pieces.num_pieces(form) - (form == lower))
    forms = [form for small in _with_sharp_s(lower) for form in (small, small.capitalize())]
    best = min(forms, key=lambda form: pieces.num_pieces(form))
    is_known = pieces.num_pieces(best) <= KNOWN_PIECES
    if len(word) > SHORT and (_NOUN.search(lower) or not (is_known or _NO_NOUN.search(lower))):
        return best.capitalize()
    return best if is_known else best.lower()


def _with_sharp_s(word: str) -> list[str]:
    """The word with a sharp s in place of each double s, or not."""
    parts = word.split("ss", MOST_SHARP)
    return [
        "".join(part + sign for part, sign in zip(parts, (*signs, ""), strict=True))
        for signs in product(("ss", "\u00df"), repeat=len(parts) - 1)
    ]


def _is_better_spelled(pieces: Pieces, word: str, other: str) -> bool:
    """Whether the vocabulary knows a word, and better than `other`."""
    count = pieces.num_pieces(word)
    return count < pieces.num_pieces(other) and 2 * count <= len(word) + 1


def with_initial_of(source: str, target: str, is_whole: bool = True) -> str:
    """`target` with a capital initial where `source` has one: a label or a sentence begins as it did, though a model
    writes a German noun alone as other languages do ("Stuhl", "chair"). A first word with any capital, such as
    "iPhone", stays. Unless the target `is_whole`, more letters of its last word may follow: it is "" until then."""
    initial, first = _INITIAL.match(source), _FIRST_WORD.match(target)
    if initial is None or first is None or not initial[1].isupper() or not first[1].islower():
        return target
    if first.end() == len(target) and not is_whole:
        return ""
    start, small = first.start(1), first[1][0]
    return target[:start] + small.upper() + target[start + 1 :] if small.upper().lower() == small else target
