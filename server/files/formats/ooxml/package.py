"""The parts of Office files: which of them have text."""

import re
from dataclasses import dataclass

from server.files.formats.archive import Archive
from server.files.formats.base import DamagedFile
from server.files.formats.xml_files import XmlBudget
from server.files.formats.xml_part import unpacked
from server.files.formats.xml_places import elements

_TYPES = "[Content_Types].xml"


@dataclass(frozen=True)
class Kind:
    """A kind of files. `parts`: what the parts with text are called where the list of types says nothing; `types`: how
    the types of their contents end."""

    parts: re.Pattern[str]
    types: re.Pattern[str]
    main: str
    name: str


SHARED_TYPES = r"|drawingml\.(?:chart|chartshapes|diagramData)|ms-office\.(?:drawingml\.diagramDrawing|chartex)"
SHARED_PARTS = r"|(?:charts/chart|drawings/drawing|diagrams/data|diagrams/drawing)[0-9]{1,9}"
"""Of parts that every kind of files has."""


def names_of(archive: Archive, kind: Kind, xml: XmlBudget) -> set[str]:
    """The parts with text. Raises DamagedFile."""
    names = {name for name in archive.names if kind.parts.fullmatch(name)}
    if _TYPES in archive.names:
        types = _types(archive, xml)
        names -= types.keys()  # it says what they are
        names |= {
            name for name, content_type in types.items() if kind.types.fullmatch(content_type) and name in archive.names
        }
    if kind.main not in archive.names and not names:
        raise DamagedFile(f"the file is no {kind.name} file: it has no {kind.main}")
    return names


def _types(archive: Archive, xml: XmlBudget) -> dict[str, str]:
    """The types of those parts that the archive names one by one."""
    part = unpacked(archive.chunks(_TYPES), _TYPES, xml)
    overrides = (element.attributes for element in elements(part.data, _TYPES, "Override"))
    return {names.get("PartName", "").removeprefix("/"): names.get("ContentType", "") for names in overrides}


def reading_order(name: str) -> tuple[str, int]:
    number = re.search(r"(?<![0-9])([0-9]{1,9})\.xml", name)
    return re.sub(r"[0-9]+", "", name), int(number[1]) if number else 0
