"""Front matter: the settings of a page before its text, in YAML, TOML, JSON, or lines as MultiMarkdown has them. Of its
values, those that readers see are texts (`front_matter_keys`); every other byte stays."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from server.files.formats.base import DamagedFile
from server.files.formats.front_matter_keys import is_name, is_shown
from server.files.formats.markdown_blocks import front_in_language
from server.files.formats.spans import Span, value, with_spans
from server.files.formats.strings.json_tree import Value, json_tree, quoted
from server.files.formats.strings.toml_strings import toml_strings
from server.text.base.words import has_letters

_FRONT_MATTER = re.compile(
    r"\A(?:(?P<yaml>---)[ \t]*\r?\n(?P<settings>(?:.*?\n)?)(?:---|\.\.\.)|(?P<toml>\+\+\+)[ \t]*\r?\n(?:.*?\n)?\+\+\+"
    r"|(?P<json>\{)[ \t]*\r?\n.*?\n\})[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)
_LINES = re.compile(
    r"\A(?:title|subtitle|authors?|date|summary|description|keywords|tags|template|layout|slug|category|status)"
    r"[ \t]*:[^\n]*+\n(?:(?:[a-z][\w -]{0,60}:(?=[ \t\r\n])| {4}|\t)[^\n]*+\n)++(?=\r?\n)",
    re.IGNORECASE,
)
"""Lines of keys and values before an empty line (MultiMarkdown, MkDocs)."""
_LINE = re.compile(
    r"^([a-z][\w -]{0,60}?)[ \t]*:[ \t]+([^\r\n]*[^\s])[ \t]*\r?\n(?! {4}|\t)", re.IGNORECASE | re.MULTILINE
)
_FENCE = 3
_Chooses = Callable[[Sequence[str], str], bool]
_WORDS = re.compile(r"[^\W\d_]\s++[^\W\d_]")


@dataclass(frozen=True)
class FrontMatter:
    """The beginning of a file, `raw`, whose `spans` are texts. `notes` say what was not translated."""

    raw: str = ""
    spans: Sequence[Span] = ()
    notes: Sequence[str] = ()

    @property
    def texts(self) -> list[str]:
        return [text for span in self.spans for text in span.texts]

    def write(self, translations: Sequence[str], source_language: str, language: str) -> str:
        """With the `translations` of `texts`, and the target language where it declares that of the source."""
        return front_in_language(with_spans(self.raw, self.spans, translations), source_language, language)


def front_matter(text: str, with_lines: bool = False) -> FrontMatter:
    """That of a file; without text if it has none. `with_lines`: it may also be plain lines of keys and values.
    Lines between two rules that are no settings are none."""
    others: list[str] = []
    if with_lines and (lines := _LINES.match(text)) is not None:
        found = list(_line_spans(lines[0], others))
        return FrontMatter(lines[0], found, tuple(_notes(others)))
    match = _FRONT_MATTER.match(text)
    if match is None:
        return FrontMatter()
    try:
        spans = list(_spans(match, others))
    except _NoSettings:
        return FrontMatter()
    except (DamagedFile, ValueError, RecursionError):
        return FrontMatter(match[0], (), ("the front matter is not translated: it could not be read",))
    return FrontMatter(match[0], spans, tuple(_notes(others)))


class _NoSettings(Exception):
    """What stands between the lines is a text or a list."""


def _notes(others: Sequence[str]) -> Iterator[str]:
    if count := sum(_WORDS.search(other) is not None for other in others):
        values = "one value" if count == 1 else f"{count} values"
        yield f"{values} of the front matter with several words stayed: only titles, descriptions and the like change"


def _line_spans(raw: str, others: list[str]) -> Iterator[Span]:
    for line in _LINE.finditer(raw):
        key = [line[1].replace(" ", "")]
        if is_shown(key) and has_letters(line[2]):
            yield value(*line.span(2), line[2], lambda text: " ".join(text.split()))
        elif not is_name(key):
            others.append(line[2])


def _spans(match: re.Match[str], others: list[str]) -> Iterator[Span]:
    """The values that readers see. Strings that are neither these nor names are appended to `others`."""

    def chooses(path: Sequence[str], text: str) -> bool:
        if is_shown(path):
            return has_letters(text)
        if not is_name(path):
            others.append(text)
        return False

    raw = match[0]
    if match["toml"]:
        inner = raw[: raw.rindex("+++")]
        for found in toml_strings(" " * _FENCE + inner[_FENCE:]):
            if chooses(found.path, found.text):
                yield value(found.start, found.end, found.text, found.write)
    elif match["json"]:
        try:
            json.loads(raw, parse_int=len, parse_float=len)
        except (ValueError, RecursionError):
            raise _NoSettings from None
        yield from _json_spans(raw, json_tree(raw), (), chooses)
    else:
        from server.files.formats.strings.yaml_file import YamlDocument

        document = YamlDocument(match["settings"], chooses=chooses)
        spans = list(document.spans())
        if document.root in ("scalar", "list"):
            raise _NoSettings
        start = match.start("settings")
        yield from (span._replace(start=start + span.start, end=start + span.end) for span in spans)


def _json_spans(raw: str, around: Value, path: tuple[str, ...], chooses: _Chooses) -> Iterator[Span]:
    is_object = raw[around.start] == "{"
    for key, inner in around.members.items():
        keys = (*path, key) if is_object else path
        if inner.members:
            yield from _json_spans(raw, inner, keys, chooses)
        elif raw[inner.start] == '"':
            text = str(json.loads(raw[inner.start : inner.end]))
            if chooses(keys, text):
                yield value(inner.start, inner.end, text, quoted)
