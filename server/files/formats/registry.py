"""The table of file formats."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType

from server.files.formats.base import Budget, DamagedFile, OpenedFile, Opener, UnsupportedFile
from server.files.formats.content import suffix_by_content, suffix_by_root
from server.text.base.placeholders import TooManyPlaceholders

EXTRA = "pip install 'ringmt[files]'"
NO_FORMAT = frozenset({"", ".bin", ".dat", ".tmp"})
"""Suffixes of names that say nothing about the format."""

_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."


@dataclass(frozen=True)
class Format:
    """`opener` is a function of `module`, which is imported with the first file of the format. `written_as` is the
    suffix of translated files, if they have another format."""

    name: str
    media_type: str
    module: str
    opener: str
    written_as: str = ""


FORMATS: Mapping[str, Format] = MappingProxyType({
    ".txt": Format("text", "text/plain", "plain", "open_text"),
    ".md": Format("Markdown", "text/markdown", "markdown", "open_markdown"),
    ".html": Format("HTML", "text/html", "html", "open_html"),
    ".htm": Format("HTML", "text/html", "html", "open_html"),
    ".docx": Format(
        "Word", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "office", "open_docx"
    ),
    ".pptx": Format(
        "PowerPoint", "application/vnd.openxmlformats-officedocument.presentationml.presentation", "office", "open_pptx"
    ),
    ".docm": Format("Word", "application/vnd.ms-word.document.macroEnabled.12", "office", "open_docx"),
    ".dotx": Format(
        "Word", "application/vnd.openxmlformats-officedocument.wordprocessingml.template", "office", "open_docx"
    ),
    ".dotm": Format("Word", "application/vnd.ms-word.template.macroEnabled.12", "office", "open_docx"),
    ".pptm": Format("PowerPoint", "application/vnd.ms-powerpoint.presentation.macroEnabled.12", "office", "open_pptx"),
    ".potx": Format(
        "PowerPoint", "application/vnd.openxmlformats-officedocument.presentationml.template", "office", "open_pptx"
    ),
    ".ppsx": Format(
        "PowerPoint", "application/vnd.openxmlformats-officedocument.presentationml.slideshow", "office", "open_pptx"
    ),
    ".xlsx": Format("Excel", f"{_OOXML}spreadsheetml.sheet", "spreadsheet", "open_xlsx"),
    ".xlsm": Format("Excel", "application/vnd.ms-excel.sheet.macroEnabled.12", "spreadsheet", "open_xlsx"),
    ".xltx": Format("Excel", f"{_OOXML}spreadsheetml.template", "spreadsheet", "open_xlsx"),
    ".odt": Format("OpenDocument text", f"{_ODF}text", "opendocument", "open_opendocument"),
    ".odp": Format("OpenDocument presentation", f"{_ODF}presentation", "opendocument", "open_opendocument"),
    ".ods": Format("OpenDocument spreadsheet", f"{_ODF}spreadsheet", "opendocument", "open_opendocument"),
    ".odg": Format("OpenDocument drawing", f"{_ODF}graphics", "opendocument", "open_opendocument"),
    ".ott": Format("OpenDocument text", f"{_ODF}text-template", "opendocument", "open_opendocument"),
    ".otp": Format("OpenDocument presentation", f"{_ODF}presentation-template", "opendocument", "open_opendocument"),
    ".ots": Format("OpenDocument spreadsheet", f"{_ODF}spreadsheet-template", "opendocument", "open_opendocument"),
    ".epub": Format("EPUB", "application/epub+zip", "epub", "open_epub"),
    ".idml": Format("InDesign", "application/vnd.adobe.indesign-idml-package", "idml", "open_idml"),
    ".eml": Format("mail", "message/rfc822", "eml", "open_eml"),
    ".pdf": Format("PDF", "application/pdf", "pdf", "open_pdf", written_as=".html"),
    ".srt": Format("SubRip", "application/x-subrip", "subtitles", "open_srt"),
    ".vtt": Format("WebVTT", "text/vtt", "subtitles", "open_vtt"),
    ".xliff": Format("XLIFF", "application/xliff+xml", "xliff", "open_xliff"),
    ".xlf": Format("XLIFF", "application/xliff+xml", "xliff", "open_xliff"),
    ".po": Format("gettext", "text/x-gettext-translation", "gettext", "open_po"),
    ".csv": Format("CSV", "text/csv", "csv_json", "open_csv"),
    ".tsv": Format("CSV", "text/tab-separated-values", "csv_json", "open_csv"),
    ".json": Format("JSON", "application/json", "csv_json", "open_json"),
    ".properties": Format("Java properties", "text/x-java-properties", "strings.properties", "open_properties"),
    ".yaml": Format("YAML", "application/yaml", "strings.yaml_file", "open_yaml"),
    ".yml": Format("YAML", "application/yaml", "strings.yaml_file", "open_yaml"),
    ".arb": Format("Application Resource Bundle", "application/json", "strings.arb", "open_arb"),
    ".resx": Format(".NET resources", "application/xml", "strings.resx", "open_resx"),
    ".strings": Format("Apple strings", "text/plain", "strings.apple", "open_strings"),
    ".xcstrings": Format("Xcode string catalogue", "application/json", "strings.xcstrings", "open_xcstrings"),
    ".ftl": Format("Fluent", "text/plain", "strings.fluent", "open_ftl"),
    ".ts": Format("Qt Linguist", "application/xml", "strings.qt", "open_ts"),
    ".xml": Format("Android strings", "application/xml", "strings.android", "open_android"),
    ".tmx": Format("TMX", "application/xml", "strings.tmx", "open_tmx"),
    ".tbx": Format("TBX", "application/x-tbx+xml", "strings.tbx", "open_tbx"),
})  # fmt: skip


def suffix_of(name: str, data: bytes) -> str:
    """The key of FORMATS by the file's name, or by its content if the name says nothing. Raises UnsupportedFile."""
    suffix = PurePath(name).suffix.lower()
    if suffix in NO_FORMAT:
        suffix = suffix_by_content(data)
    elif suffix == ".xml":
        suffix = suffix_by_root(data) or suffix
    if suffix not in FORMATS:
        raise UnsupportedFile(f"files that end in {suffix} are not translated; these are: {', '.join(FORMATS)}")
    return suffix


def open_file(data: bytes, name: str, language: str, max_characters: int) -> OpenedFile:
    """The opened file. `language`: the target language. Raises FileError: UnsupportedFile, DamagedFile, or FileTooLarge
    for more than `max_characters` to translate or more texts than `Budget` permits."""
    file_format = FORMATS[suffix_of(name, data)]
    budget = Budget(max_characters)
    try:
        opener: Opener = getattr(
            importlib.import_module(f"server.files.formats.{file_format.module}"), file_format.opener
        )
        opened = opener(data, language, budget)
    except ImportError as error:
        raise UnsupportedFile(
            f"{file_format.name} files need a package that is not installed: {EXTRA} ({error})"
        ) from error
    except TooManyPlaceholders as error:
        raise DamagedFile(f"{error}; divide that paragraph") from None
    budget.check(opened.texts)
    return opened


def translated_name(name: str, language: str) -> str:
    """ "report.docx" -> "report.de.docx"; "report.pdf" -> "report.de.html"."""
    path = PurePath(name)
    file_format = FORMATS.get(path.suffix.lower())
    suffix = file_format.written_as if file_format is not None and file_format.written_as else path.suffix
    return f"{path.stem}.{language}{suffix}"
