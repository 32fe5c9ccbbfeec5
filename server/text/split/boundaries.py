"""Where sentences end. `sentencex` gives the boundaries of a line; it splits after list numbers and some abbreviations,
whose parts are joined again."""

import itertools
import re
from collections.abc import Iterable, Iterator

import sentencex

from server.text.split.trimming import OUTER_SPACE

_AS_ASCII_SPACE = dict.fromkeys(map(ord, OUTER_SPACE), " ")
_SIGN = re.compile(r"[^\w\s\x00-\x7f]")
# "1.", "(2)", "a)", "iv.": a list number, never a sentence of its own.
_LIST_NUMBER = re.compile(r"\s*[(\[]?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)\]]\s*")
_LAST_WORD = re.compile(r"([^\s(\[\"'\u201e\u201c\u2018]+)\s*$")

_ABBREVIATIONS = frozenset({
    "approx.", "ca.", "cf.", "e.g.", "i.e.", "viz.", "vs.", "Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "Rev.", "Gen.",
    "Col.", "Capt.", "Lt.", "Sgt.", "Sen.", "Rep.", "Gov.", "Hon.", "St.", "Mt.", "bzw.", "d.h.", "Dipl.", "evtl.",
    "ggf.", "Hr.", "Fr.", "inkl.", "Mio.", "Mrd.", "sog.", "u.a.", "usf.", "vgl.", "z.B.", "zzgl.",
    "exkl.", "max.", "mind.", "entspr.", "allg.", "einschl.", "ausschl.", "abzgl.", "bspw.", "bes.", "Tsd.", "dt.",
    "engl.", "franz.", "griech.", "lat.", "r\u00f6m.", "\u00f6sterr.", "schweiz.", "n\u00f6rdl.", "s\u00fcdl.",
    "\u00f6stl.", "westl.", "bez.", "betr.", "resp.", "geb.", "gest.", "gez.", "hl.", "Hl.", "Gebr.", "Abt.", "Hrsg.",
    "incl.", "excl.", "misc.",
})  # fmt: skip
_NUMBERING = frozenset({
    "No.", "Nos.", "no.", "Fig.", "Figs.", "Eq.", "Eqs.", "Sec.", "Ch.", "Art.", "Vol.", "p.", "pp.", "Nr.", "Abb.",
    "Abs.", "Kap.", "Bd.", "S.", "Tab.", "Ziff.", "Approx.", "Ca.", "Nrn.", "nos.", "fig.", "figs.", "vol.", "vols.",
    "Vols.", "Arts.", "Pp.", "P.", "Chap.", "Gl.", "Anm.", "Rn.", "Rdnr.", "Nrs.", "Tel.", "tel.", "ext.", "Ext.",
    "Apt.", "Bldg.", "Rm.", "qty.", "Qty.", "est.", "temp.", "Mon.", "Tue.", "Tues.", "Wed.", "Thu.", "Thurs.", "Fri.",
    "Sat.", "Sun.",
})  # fmt: skip
"""Abbreviations only if a number follows: "No." is an answer, "No. 5" is not."""

_BLOCK, _COSTLY_BLOCK = 4096, 1024
"""Characters that the library splits at once; the second where its time is quadratic. A quotation that continues after
the end of a block is split as if it had no end, so blocks are as long as possible."""
_CONTEXT = 1024
"""Characters of an unfinished sentence that are split again together with the text that follows."""
_MAX_LAST_WORD = 24
"""Characters at the end of a sentence in which its last word is searched; longer words are no abbreviations."""


def split_at_boundaries(line: str, language: str) -> Iterator[str]:
    """The sentences of `sentencex`. It gets the line in blocks, because its time is quadratic. The last part of a block
    is split again with the next block; if it is longer than _CONTEXT, only its end."""
    unfinished: list[str] = []
    carried = ""
    start = 0
    while start < len(line):
        is_costly = unfinished or _is_dense(line, start)
        end = start + (_COSTLY_BLOCK if is_costly else _BLOCK - len(carried))
        parts = _segment(carried + line[start:end], language)
        start = end
        if unfinished:  # the carried text has no boundary: it was split with more text before it
            parts = _join_until(len(carried), parts)
        carried = parts.pop()
        if parts:
            yield "".join([*unfinished, parts[0]])
            yield from parts[1:]
            unfinished = []
        if len(carried) > _CONTEXT:
            unfinished.append(carried[:-_CONTEXT])
            carried = carried[-_CONTEXT:]
    yield "".join([*unfinished, carried])


def _is_dense(line: str, start: int) -> bool:
    """Whether more than a quarter of the block that begins at `start` are signs beyond ASCII, as in no language: for so
    many sentences the library takes quadratic time."""
    return not line.isascii() and len(_SIGN.findall(line, start, start + _BLOCK)) > _BLOCK // 4


def _join_until(place: int, parts: list[str]) -> list[str]:
    """Join the parts that end before `place` and the part after them."""
    count = length = 0
    while length < place:
        length += len(parts[count])
        count += 1
    return ["".join(parts[:count]), *parts[count:]]


def _segment(block: str, language: str) -> list[str]:
    """The library's sentences of one block. The library panics at some spaces beyond ASCII, so it gets ASCII spaces
    instead, and the block is split at the lengths of its parts. If the library fails, the block is one sentence."""
    try:
        lengths = [len(part) for part in sentencex.segment(language, block.translate(_AS_ASCII_SPACE))]
    except BaseException as error:  # a panic of the library's native code is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return [block]
    if sum(lengths) != len(block) or not lengths:
        return [block]
    ends = list(itertools.accumulate(lengths))
    return [block[end - length : end] for length, end in zip(lengths, ends, strict=True)]


def rejoin(parts: Iterable[str]) -> Iterator[str]:
    """Join parts that were split after list numbers and abbreviations."""
    pending: list[str] = []
    for part in parts:
        if pending and not _continues(pending[-1], part):
            yield "".join(pending)
            pending = []
        pending.append(part)
    if pending:
        yield "".join(pending)


def _continues(before: str, after: str) -> bool:
    """Whether `before` and `after` are parts of one sentence."""
    if len(before) <= _MAX_LAST_WORD and _LIST_NUMBER.fullmatch(before):
        return True
    last = _LAST_WORD.search(before[-_MAX_LAST_WORD:])
    if last is None:
        return False
    return last[1] in _ABBREVIATIONS or (last[1] in _NUMBERING and after[:1].isdigit())
