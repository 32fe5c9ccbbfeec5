"""Puts masks in place of what a translation must have as it is; see the package."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from server.runtime.checkpoints import checkpoint
from server.text.base.words import Place, has_letters
from server.text.protect.abbreviations import LONGEST_START, in_full
from server.text.protect.accelerators import accelerator_of
from server.text.protect.capitals import Casing
from server.text.protect.masks import Masked, Span
from server.text.protect.terms import Match, Terms
from server.text.protect.unspellable import Spells, merge_adjacent, unspellable
from server.text.spans.table import protected_spans

_STEMS = "XQZKJVWY"
_LONGEST_STEM = 3
_NUMBER = re.compile(rf"(?<=[{_STEMS}])\s?\d", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_SOFT_HYPHEN = "\u00ad"
_JOINERS = "\u200c\u200d\u2060"
"""Zero-width non-joiner, zero-width joiner, word joiner."""
_TAG = re.compile(
    r"[<\[&\\]|\{\$(?:START|CLOSE)_|={3}|_{3}|~{3}|\*{3}|#{3}|\+{3}|-{4}|\{[%#/*:.]|\{[a-z]{1,10}\s|\{\{\{?[~-]?\s{0,3}[#/^%<>!]|"
    r"\{\{[~-]?\s{0,3}(?:else|end|if|range|with)\b|"
    r"\{\{?(?:(?:\w{0,30}_)?(?:start|end|open|close|begin)(?=[_A-Z}])|[a-z]\w{0,30}?(?:Start|End|Open|Close|Begin)(?=[_A-Z}]))"
)
"""Beginnings of spans that stand beside words, and belong to none."""
_VALUES = "{%"
"""Beginnings of placeholders that may stand for a number."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]")
_NO_VOCABULARY = Casing()


def mask(
    sentence: str,
    spells: Spells,
    terms: Terms | None = None,
    casing: Casing = _NO_VOCABULARY,
    garbled: Sequence[Place] = (),
) -> Masked:
    """Replace the sentence's protected spans and its `garbled` words, which are restored as they are, and its terms,
    which are restored as their translations, by masks; write words in capitals as `casing` says. Linear in the
    sentence's length."""
    accelerator = accelerator_of(sentence) if not garbled else None
    if accelerator is None:
        return _mask(sentence, spells, terms, casing, garbled)
    masked = _mask(accelerator.label, spells, terms, casing)
    if accelerator.mark and any(start <= accelerator.at < end for start, end in masked.places):
        return _mask(sentence, spells, terms, casing)
    after = accelerator.at if accelerator.mark else len(sentence)

    def in_sentence(places: tuple[Place, ...]) -> tuple[Place, ...]:
        return tuple((start + (start >= after), end + (end > after)) for start, end in places)

    return replace(
        masked,
        accelerator=accelerator.outside(masked.places),
        places=in_sentence(masked.places),
        emphasized=in_sentence(masked.emphasized),
    )


def _mask(sentence: str, spells: Spells, terms: Terms | None, casing: Casing, garbled: Sequence[Place] = ()) -> Masked:
    matches = {} if terms is None else {(term.start, term.end): term for term in find_terms(sentence, terms)}
    unknown = sorted([*unspellable(sentence, spells), *garbled])
    unspelled = _without_overlaps(unknown, list(matches))
    protected = [place for place in protected_spans(sentence) if not casing.repaired(sentence[slice(*place)])]
    if not (matches or unspelled or protected):
        [text], is_capitals, emphasized = _in_small_letters([sentence], [], casing)
        text = in_full(_without_invisible(text, spells), casing.language)
        return Masked(text, is_capitals=is_capitals, emphasized=emphasized)
    kept = _join_touching(sentence, [*protected, *merge_adjacent(sentence, unspelled, list(matches))])
    replacements = {place: term.target for place, term in matches.items()}
    replacements |= {place: sentence[slice(*place)] for place in kept}
    places = sorted(replacements)
    stem = _free_stem(sentence) if places else ""
    if not stem:
        places = []
    between, is_capitals, emphasized = _in_small_letters(_texts_between(sentence, places), places, casing)
    is_numbered = [*(_is_number(sentence, *place) for place in places), False]
    between = [
        in_full(_without_invisible(text, spells), casing.language, before_number=is_number, starts=not at)
        for at, (text, is_number) in enumerate(zip(between, is_numbered, strict=True))
    ]
    spans: list[Span] = []
    parts = [between[0]]
    for number, (place, before, after) in enumerate(zip(places, between, between[1:], strict=False), 1):
        checkpoint()
        text = replacements[place]
        is_word = place in matches or (_WORD.fullmatch(text) is not None and bool(text.strip("_")))
        rises = place in matches and matches[place].rises
        span = Span(text, before[-1:].isalnum(), after[:1].isalnum(), is_word, rises)
        spans.append(span)
        parts += (" " * span.has_space_before, f"{stem}{number}", " " * span.has_space_after, after)
    return Masked("".join(parts), tuple(spans), stem, is_capitals, places=tuple(places), emphasized=emphasized)


def _is_number(sentence: str, start: int, end: int) -> bool:
    """Whether the span is a number, or a placeholder that stands for one after an abbreviation. "No. {name} left." has
    an answer before it."""
    is_label = end == len(sentence) or start > LONGEST_START or sentence[:start].strip(' ("') != "No."
    return sentence[start].isdigit() or (sentence[start] in _VALUES and is_label)


def _without_invisible(text: str, spells: Spells) -> str:
    """The text without soft hyphens, and without joiners that the vocabulary cannot spell."""
    if text.isascii():
        return text
    text = text.replace(_SOFT_HYPHEN, "")
    for joiner in _JOINERS:
        if joiner in text and not spells(joiner):
            text = text.replace(joiner, "")
    return text


def find_terms(sentence: str, terms: Terms) -> list[Match]:
    """The terms of a sentence outside of URLs, placeholders and other protected spans."""
    return terms.find(sentence, _join_touching(sentence, protected_spans(sentence)))


def has_words(sentence: str) -> bool:
    """Whether there are letters of any script outside of URLs, placeholders and other protected spans."""
    spans = protected_spans(sentence)
    return has_letters("".join(_texts_between(sentence, _join_touching(sentence, spans))) if spans else sentence)


def _without_overlaps(places: Sequence[tuple[int, int]], matches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The `places` that overlap no match. Places are in order of their starts; matches do not overlap each other."""
    if not matches:
        return list(places)
    starts, ends = [start for start, _ in matches], [end for _, end in matches]
    # As many matches begin before the place's end as end before its start: none is between.
    return [(start, end) for start, end in places if bisect_left(starts, end) <= bisect_right(ends, start)]


def _free_stem(sentence: str) -> str:
    """The first stem that no number follows in the sentence; "" if a hostile sentence has every stem."""
    taken: set[str] = set()
    for match in _NUMBER.finditer(sentence):
        before = sentence[max(0, match.start() - _LONGEST_STEM) : match.start()].casefold().upper()
        taken.update(before[-length:] for length in range(1, _LONGEST_STEM + 1))
    if not taken:
        return _STEMS[0]
    lengths = range(1, _LONGEST_STEM + 1)
    stems = ("".join(letters) for length in lengths for letters in product(_STEMS, repeat=length))
    return next((stem for stem in stems if stem not in taken), "")


def _join_touching(sentence: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, those that touch each other joined. A placeholder includes the ASCII letters that touch it
    ("{count}th"); a tag or an emoji does not ("<b>word</b>", "{% if late %}word{% endif %}")."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        checkpoint()
        if sentence[start].isascii() and not _TAG.match(sentence, start):
            while start > 0 and _ASCII_WORD.match(sentence[start - 1]):
                start -= 1
            while end < len(sentence) and _ASCII_WORD.match(sentence[end]):
                end += 1
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _texts_between(sentence: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The texts before, between and after the spans: one more than there are spans."""
    texts: list[str] = []
    last = 0
    for start, end in spans:
        texts.append(sentence[last:start])
        last = end
    return [*texts, sentence[last:]]


def _in_small_letters(
    texts: Sequence[str], spans: Sequence[Place], casing: Casing
) -> tuple[list[str], bool, tuple[Place, ...]]:
    """The texts between the `spans` of a sentence as the model reads them; whether all of the sentence is in capitals;
    and the places in it of single words in capitals."""
    lowered = casing.all_lowered(texts)
    if lowered is not None:
        return lowered, True, ()
    small: list[str] = []
    emphasized: list[Place] = []
    for text, start in zip(texts, (0, *(end for _, end in spans)), strict=True):
        checkpoint()
        read, places = casing.with_words_lowered(text)
        small.append(read)
        emphasized += ((start + begin, start + end) for begin, end in places)
    return small, False, tuple(emphasized)
