"""XLIFF 1.2 and 2.x: segments without a translation, and those whose state says that they need one, are translated.

All other bytes stay, but for the state of what was translated and for the target's language. Nothing is translated that
is approved, final or signed off, or that `translate` forbids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from server.files.formats.base import Budget, DamagedFile, Encoding, OpenedFile, decode
from server.files.formats.xliff_inline import is_translated, read_inline, rendered, visible_text
from server.files.formats.xml_files import XmlBudget, encoding_of
from server.files.formats.xml_places import Element, PlacedXml, with_attributes
from server.text.base.placeholders import PlaceholderText
from server.text.markup.languages import primary

_NEEDED = ("new", "needs-translation", "initial")
"""States of targets that are no translations yet: tools copy the source into them."""
_CLOSED = ("final", "signed-off")
_LANGUAGE = "xml:lang"

Part = str | PlaceholderText
"""XML as it is, or a text whose translation is written."""


@dataclass(frozen=True)
class _Edit:
    """What is written in place of the bytes from `start` to `end`."""

    start: int
    end: int
    parts: Sequence[Part]


def open_xliff(data: bytes, language: str, budget: Budget) -> OpenedFile:
    xml, encoding = _decoded(data, budget)
    reader = _Reader(xml, language, budget)
    xml.read(reader.start, reader.unit, reader.close)
    edits = sorted(reader.edits, key=lambda edit: edit.start)
    texts = [part for edit in edits for part in edit.parts if isinstance(part, PlaceholderText)]

    def write(translations: Sequence[str]) -> bytes:
        return encoding.bom + _written(xml, edits, translations).encode(encoding.name, "xmlcharrefreplace")

    return OpenedFile([text.text for text in texts], write, encoding.notes, reader.num_done)


def _decoded(data: bytes, budget: Budget) -> tuple[PlacedXml, Encoding]:
    """The file in UTF-8, and its own encoding. Raises DamagedFile, FileTooLarge."""
    if not data:
        raise DamagedFile("the file is empty")
    XmlBudget(budget).spend(data)
    declared = encoding_of(data, "the file")
    text, encoding = decode(data, None if declared == "utf-8" and not _declares(data) else declared)
    return PlacedXml(text.encode("utf-8", "surrogatepass"), "the file"), encoding


def _declares(data: bytes) -> bool:
    return b"encoding" in data[:200].partition(b"?>")[0]


def _written(xml: PlacedXml, edits: Sequence[_Edit], translations: Sequence[str]) -> str:
    remaining = iter(translations)
    parts: list[str] = []
    end = 0
    for edit in edits:
        parts.append(xml.raw(end, edit.start))
        parts += (part if isinstance(part, str) else rendered(part, next(remaining)) for part in edit.parts)
        end = edit.end
    return "".join([*parts, xml.raw(end, len(xml.data))])


@dataclass
class _Reader:
    """Collects the edits of a file, unit by unit."""

    xml: PlacedXml
    language: str
    budget: Budget
    edits: list[_Edit] = field(default_factory=list)
    num_done: int = 0
    _translated: list[bool] = field(default_factory=lambda: [True])
    """For every open element, whether what is in it is to be translated."""
    _is_second: bool = False
    """Whether it is XLIFF 2."""

    def start(self, element: Element) -> bool:
        if len(self._translated) == 1:
            if element.name != "xliff":
                raise DamagedFile(f"the file is no XLIFF: its root is <{element.name}>")
            self._is_second = element.attributes.get("version", "").startswith("2")
        self._translated.append(is_translated(element, self._translated[-1]))
        if element.name == "xliff" and self._is_second:
            self._set_language(element, "trgLang")
        elif element.name == "file" and not self._is_second:
            self._set_language(element, "target-language")
        return element.name in ("trans-unit", "segment")

    def close(self) -> None:
        self._translated.pop()

    def unit(self, unit: Element) -> None:
        source, target = unit.child("source"), unit.child("target")
        if source is None or not self._translated[-1]:
            return
        holder = unit if unit.name == "segment" else target
        state = holder.attributes.get("state", "") if holder else ""
        is_done = target is not None and bool(visible_text(target).strip()) and state not in _NEEDED
        if state in _CLOSED or unit.attributes.get("approved") == "yes":
            self.num_done += 1
            return
        segmented = unit.child("seg-source")
        segments = list(_segments(segmented)) if segmented else []
        if segmented is not None and segments:
            self._segmented(unit, segmented, segments, state in _NEEDED)
        elif is_done:
            self.num_done += 1
        else:
            text = read_inline(source, self.xml)
            self._spend(text)
            self._replace(unit, [text])

    def _segmented(self, unit: Element, segmented: Element, segments: Sequence[Element], is_needed: bool) -> None:
        """A unit of 1.2 with segments: each is translated if the target has none or an empty one."""
        target = unit.child("target")
        filled = {} if target is None else {_id(segment): segment for segment in _segments(target)}
        if target is not None and not filled and visible_text(target).strip() and not is_needed:
            self.num_done += 1  # translated as a whole
            return
        contents = [
            self._content(segment) if is_needed or not _is_filled(filled.get(_id(segment))) else None
            for segment in segments
        ]
        if all(content is None for content in contents):
            self.num_done += 1
        elif target is not None and all(_id(segment) in filled for segment in segments):
            self._fill(target, [filled[_id(segment)] for segment in segments], contents)
        else:
            self._replace(unit, list(self._built(segmented, segments, filled, contents)))

    def _content(self, segment: Element) -> PlaceholderText | None:
        """The text of a segment; None if it has none."""
        if not visible_text(segment).strip():
            return None
        text = read_inline(segment, self.xml)
        self._spend(text)
        return text

    def _spend(self, text: PlaceholderText) -> None:
        self.budget.spend(text.text)

    def _fill(self, target: Element, segments: Sequence[Element], contents: Sequence[PlaceholderText | None]) -> None:
        """Write contents into segments that the target has."""
        self.edits.append(_Edit(target.start, target.inner, [self._target_tag(target)]))
        for segment, content in zip(segments, contents, strict=True):
            if content is not None:
                tag, end = self._open_tag(segment)
                self.edits.append(_Edit(segment.start, segment.end, [tag, content, end]))

    def _built(
        self,
        segmented: Element,
        segments: Sequence[Element],
        filled: dict[str, Element],
        contents: Sequence[PlaceholderText | None],
    ) -> Iterator[Part]:
        """The content of a target, as the segmented source has it; translations that are there stay."""
        at = segmented.inner
        for segment, content in zip(segments, contents, strict=True):
            if segment.is_empty:
                continue
            yield self.xml.raw(at, segment.inner)
            kept = filled.get(_id(segment), segment)
            yield self.xml.raw(kept.inner, kept.inner_end) if content is None else content
            at = segment.inner_end
        yield self.xml.raw(at, segmented.inner_end)

    def _replace(self, unit: Element, parts: Sequence[Part]) -> None:
        """Write the whole target; a new one where the standard has its place."""
        target, last = unit.child("target"), unit.child("seg-source") or unit.child("source")
        assert last is not None
        if unit.name == "segment":
            values = {"state": "translated", "subState": None}
            self.edits.append(_Edit(unit.start, unit.inner, [with_attributes(self._raw_tag(unit), values)]))
        if target is not None:
            end = "" if target.is_empty else self.xml.raw(target.inner_end, target.end)
            tag = self._target_tag(target)
            self.edits.append(_Edit(target.start, target.end, [tag, *parts, end or _closing(tag)]))
            return
        source = unit.child("source")
        assert source is not None
        prefix = self._raw_tag(source)[1:].partition("source")[0]
        tag = f"<{prefix}target>"
        self.edits.append(_Edit(last.end, last.end, [self._blanks_before(source), tag, *parts, _closing(tag)]))

    def _target_tag(self, target: Element) -> str:
        """The start tag of a target that is translated: its state, its origin and its language are new."""
        values: dict[str, str | None] = {}
        if "state" in target.attributes:
            values["state"] = "needs-review-translation"
        if "state-qualifier" in target.attributes:
            values["state-qualifier"] = "mt-suggestion"
        tag = self._open_tag(target)[0]
        if f" {_LANGUAGE}" in tag.replace("\n", " ").replace("\t", " "):
            values |= self._language_of(
                target.attributes.get("http://www.w3.org/XML/1998/namespace lang", ""), _LANGUAGE
            )
        return with_attributes(tag, values)

    def _set_language(self, element: Element, name: str) -> None:
        if values := self._language_of(element.attributes.get(name, ""), name):
            self.edits.append(_Edit(element.start, element.inner, [with_attributes(self._raw_tag(element), values)]))

    def _language_of(self, declared: str, name: str) -> dict[str, str | None]:
        """A region of the same language stays."""
        return {} if declared and primary(declared) == primary(self.language) else {name: self.language}

    def _raw_tag(self, element: Element) -> str:
        return self.xml.raw(element.start, element.inner)

    def _open_tag(self, element: Element) -> tuple[str, str]:
        """The start and the end tag of an element, also of one that is only one tag."""
        tag = self._raw_tag(element)
        if not element.is_empty:
            return tag, self.xml.raw(element.inner_end, element.end)
        opened = tag[:-2].rstrip() + ">"
        return opened, _closing(opened)

    def _blanks_before(self, element: Element) -> str:
        before = self.xml.data[max(0, element.start - 200) : element.start]
        return before[len(before.rstrip()) :].decode()


def _segments(element: Element) -> Iterator[Element]:
    for child in element.children():
        if child.name == "mrk" and child.attributes.get("mtype") == "seg":
            yield child
        else:
            yield from _segments(child)


def _is_filled(segment: Element | None) -> bool:
    return segment is not None and bool(visible_text(segment).strip())


def _id(segment: Element) -> str:
    return segment.attributes.get("mid", "")


def _closing(tag: str) -> str:
    return f"</{tag[1:].rstrip('>').split()[0]}>"
