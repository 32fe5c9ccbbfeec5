"""Fields: what a program computes (a page number), and what encloses words that somebody wrote (a link)."""

from collections.abc import Iterator, Sequence

from server.files.formats.ooxml.content import Atom, Item, Mark, Span, Text, leaves
from server.text.base.words import has_letters

_COMPUTED = frozenset({
    "=", "AUTHOR", "AUTONUM", "AUTONUMLGL", "AUTONUMOUT", "BARCODE", "CREATEDATE", "DATE", "DISPLAYBARCODE",
    "DOCPROPERTY", "DOCVARIABLE", "EDITTIME", "EQ", "FILENAME", "FILESIZE", "FORMCHECKBOX", "FORMDROPDOWN", "INFO",
    "KEYWORDS", "LASTSAVEDBY", "LISTNUM", "MERGEFIELD", "MERGEREC", "MERGESEQ", "NOTEREF", "NUMCHARS", "NUMPAGES",
    "NUMWORDS", "PAGE", "PAGEREF", "PRINTDATE", "REVNUM", "SAVEDATE", "SECTION", "SECTIONPAGES", "SEQ", "SUBJECT",
    "SYMBOL", "TEMPLATE", "TIME", "TITLE", "USERADDRESS", "USERINITIALS", "USERNAME",
})  # fmt: skip
"""Fields whose results are no words of the text."""
_UNSEEN = frozenset({"ASK", "NEXT", "NEXTIF", "PRINT", "RD", "SET", "SKIPIF", "TA", "TC", "XE"})
MAX_FIELDS = 20
"""Fields inside each other; deeper ones stay as they are."""


def is_computed(instruction: str, result: Sequence[Item]) -> bool:
    """Whether the result of a field is not to be translated. A reference shows the words that it refers to."""
    kind = _kind(instruction)
    return kind in _COMPUTED or kind.startswith("=") or not any(
        has_letters(item.text) for item in leaves(result) if isinstance(item, Text)
    )  # fmt: skip


def _kind(instruction: str) -> str:
    return (instruction.split(maxsplit=1) or [""])[0].upper()


def with_fields(items: Sequence[Item]) -> list[Item]:
    """The items of one element, those of every field in one: a mark for one that is computed, else a span."""
    ends: dict[int, tuple[int | None, int]] = {}
    is_open: list[tuple[int, int | None]] = []
    for index, item in enumerate(items):
        match item.field if isinstance(item, Mark) else "":
            case "begin":
                is_open.append((index, None))
            case "separate" if is_open and is_open[-1][1] is None:
                is_open[-1] = (is_open[-1][0], index)
            case "end" if is_open:
                begin, separator = is_open.pop()
                ends[begin] = (separator, index)
    return list(_in_range(items, 0, len(items), ends, 0)) if ends else list(items)


def _in_range(
    items: Sequence[Item], start: int, end: int, ends: dict[int, tuple[int | None, int]], depth: int
) -> Iterator[Item]:
    index = start
    while index < end:
        if index in ends:
            separator, last = ends[index]
            yield _field(items, index, separator, last, ends, depth)
            index = last + 1
        else:
            yield items[index]
            index += 1


def _field(
    items: Sequence[Item],
    begin: int,
    separator: int | None,
    end: int,
    ends: dict[int, tuple[int | None, int]],
    depth: int,
) -> Item:
    code = items[begin : end if separator is None else separator]
    instruction = "".join(item.instruction for item in code if isinstance(item, Mark))
    result = () if separator is None else items[separator + 1 : end]
    in_order = any(
        isinstance(item, Mark) and item.in_order and not item.field for item in leaves(items[begin : end + 1])
    )
    if depth >= MAX_FIELDS or separator is None or is_computed(instruction, result):
        is_unseen = separator is None and _kind(instruction) in _UNSEEN
        return Mark("point" if is_unseen else "content", _atoms(items[begin : end + 1]), in_order)
    inside = list(_in_range(items, separator + 1, end, ends, depth + 1))
    return Span(_atoms(items[begin : separator + 1]), items[end].atoms, inside, in_order)


def _atoms(items: Sequence[Item]) -> tuple[Atom, ...]:
    return tuple(atom for item in items for atom in item.atoms)
