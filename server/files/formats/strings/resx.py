"""The resources of .NET (.resx): the strings among the `data` are texts; files, pictures, types and comments stay."""

from collections.abc import Iterator

from server.files.formats.base import Budget, OpenedFile
from server.files.formats.spans import Span, opened
from server.files.formats.strings.xml_inline import content_span
from server.files.formats.strings.xml_source import Element, XmlSource, read_xml

_DESIGNER = ">>"
"""Before the names of what Windows Forms keeps about controls."""


def open_resx(data: bytes, language: str, budget: Budget) -> OpenedFile:
    source = read_xml(data, budget, "root")
    return opened(source.text, source.encode, _values(source), budget)


def _values(source: XmlSource) -> Iterator[Span]:
    for data in source.root.all("data"):
        value = data.first("value")
        if value is not None and _is_string(data) and (span := content_span(value, source.newline)) is not None:
            yield span


def _is_string(data: Element) -> bool:
    kind = (data.get("type") or "System.String").partition(",")[0]
    return (
        kind == "System.String" and data.get("mimetype") is None and not (data.get("name") or "").startswith(_DESIGNER)
    )
