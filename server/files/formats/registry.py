"""The table of file formats."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType

from server.files.formats.base import (
    NO_OPTIONS,
    Budget,
    DamagedFile,
    FileError,
    FileOptions,
    NoText,
    OpenedFile,
    Opener,
    OpenerWithOptions,
    UnsupportedFile,
)
from server.files.formats.content import suffix_by_content, suffix_by_root
from server.text.base.placeholders import TooManyPlaceholders
from server.text.base.words import has_letters

EXTRA = "pip install 'ringmt[files]'"
NO_FORMAT = frozenset({"", ".bin", ".dat", ".tmp"})
"""Suffixes of names that say nothing about the format."""
CLIENT_OPTIONS = ("columns", "keys")
"""The options that a client may set; others are known without."""

_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."


@dataclass(frozen=True)
class Format:
    """`opener` is a function of `module`, which is imported with the first file of the format. `written_as` is the
    suffix of translated files, if they have another format. `options`: the fields of FileOptions that it takes; with
    any, it is an OpenerWithOptions."""

    name: str
    media_type: str
    module: str
    opener: str
    options: tuple[str, ...] = ()
    written_as: str = ""


FORMATS: Mapping[str, Format] = MappingProxyType({
    ".txt": Format("text", "text/plain", "plain", "open_text"),
    ".md": Format("Markdown", "text/markdown", "markdown", "open_markdown", ("source_language",)),
    ".mdx": Format("Markdown", "text/markdown", "markdown", "open_markdown", ("source_language",)),
    ".html": Format("HTML", "text/html", "html", "open_html", ("source_language",)),
    ".htm": Format("HTML", "text/html", "html", "open_html", ("source_language",)),
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
    ".sbv": Format("YouTube subtitles", "text/plain", "subtitles", "open_sbv"),
    ".ass": Format("Advanced SubStation", "text/x-ssa", "ass", "open_ass"),
    ".ssa": Format("Advanced SubStation", "text/x-ssa", "ass", "open_ass"),
    ".xliff": Format("XLIFF", "application/xliff+xml", "xliff", "open_xliff"),
    ".xlf": Format("XLIFF", "application/xliff+xml", "xliff", "open_xliff"),
    ".po": Format("gettext", "text/x-gettext-translation", "gettext", "open_po"),
    ".csv": Format("CSV", "text/csv", "csv_tables", "open_csv", ("columns",)),
    ".tsv": Format("CSV", "text/tab-separated-values", "csv_tables", "open_csv", ("columns",)),
    ".json": Format("JSON", "application/json", "json_values", "open_json", ("keys",)),
    ".jsonl": Format("JSON Lines", "application/jsonl", "json_values", "open_json_lines", ("keys",)),
    ".ndjson": Format("JSON Lines", "application/x-ndjson", "json_values", "open_json_lines", ("keys",)),
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


def open_file(
    data: bytes, name: str, language: str, max_characters: int, options: FileOptions = NO_OPTIONS
) -> OpenedFile:
    """The opened file. `language`: the target language. Raises FileError: UnsupportedFile, DamagedFile, FileTooLarge
    for more than `max_characters` to translate or more texts than `Budget` permits, or NoText."""
    file_format = FORMATS[suffix_of(name, data)]
    budget = Budget(max_characters)
    check_options(file_format, options)
    try:
        module = importlib.import_module(f"server.files.formats.{file_format.module}")
        if file_format.options:
            with_options: OpenerWithOptions = getattr(module, file_format.opener)
            opened = with_options(data, language, budget, options)
        else:
            opener: Opener = getattr(module, file_format.opener)
            opened = opener(data, language, budget)
    except ImportError as error:
        raise UnsupportedFile(
            f"{file_format.name} files need a package that is not installed: {EXTRA} ({error})"
        ) from error
    except TooManyPlaceholders as error:
        raise DamagedFile(f"{error}; divide that paragraph") from None
    budget.check(opened.texts)
    if not any(map(has_letters, opened.texts)):
        if not opened.num_done:
            raise NoText(_nothing_in(name, options))
        opened.notes.append(f"all texts of the file ({opened.num_done}) are translated already; they were kept")
    return opened


def check_options(file_format: Format, options: FileOptions) -> None:
    """Raise FileError for an option that is not for this format."""
    for option in CLIENT_OPTIONS:
        if getattr(options, option) and option not in file_format.options:
            suffixes = ", ".join(suffix for suffix, row in FORMATS.items() if option in row.options)
            raise FileError(f"{option}: this option is for {suffixes} files, not for {file_format.name} files")


def _nothing_in(name: str, options: FileOptions) -> str:
    chosen = " and ".join(
        f"{option} '{getattr(options, option)}'" for option in CLIENT_OPTIONS if getattr(options, option)
    )
    where = f" among what {chosen} choose" if chosen else ""
    return f"no text was found in {name}{where}: there is nothing with letters to translate"


def translated_name(name: str, language: str) -> str:
    """ "report.docx" -> "report.de.docx"; "report.pdf" -> "report.de.html"."""
    path = PurePath(name)
    file_format = FORMATS.get(path.suffix.lower())
    suffix = file_format.written_as if file_format is not None and file_format.written_as else path.suffix
    return f"{path.stem}.{language}{suffix}"
