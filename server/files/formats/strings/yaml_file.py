"""YAML: the strings of mappings and lists are texts; keys, comments, anchors, aliases, tags and all other bytes stay.

Where a mapping of one language is all that a document has (`en:`, as Rails has it), its key becomes the target
language. The places of values are those that PyYAML's parser gives; nothing is constructed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import yaml

from server.files.formats.base import Budget, DamagedFile, OpenedFile, decode
from server.files.formats.constants import is_for_program, kept_note
from server.files.formats.spans import Span, opened, replacement, value
from server.files.formats.strings.languages import is_language
from server.files.formats.strings.yaml_scalars import Block, write_double, write_plain, write_single
from server.text.base.words import has_letters

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 100
_PROPERTIES = re.compile(r"(?:[&!]\S*+(?:\s++(?:#[^\n]*+)?+)++)*+")
"""The anchor and the tag before a value."""
_SYMBOL = re.compile(r":[A-Za-z_]\w*+")
_STRING = "tag:yaml.org,2002:str"


def open_yaml(data: bytes, language: str, budget: Budget) -> OpenedFile:
    text, encoding = decode(data)
    kept: list[str] = []

    def chooses(path: Sequence[str], source: str) -> bool:
        """Not names for programs, which files of strings do not have."""
        if not path or is_language(path[0]) or not is_for_program(path[-1], source):
            return True
        kept.append(path[-1])
        return False

    file = opened(text, encoding.encode, YamlDocument(text, language, chooses).spans(), budget, encoding.notes)
    if kept:
        file.notes.append(kept_note(kept))
    return file


class _Mark(Protocol):
    """A place in a file, of either parser."""

    index: int


@dataclass
class _Collection:
    """An open mapping or list. `is_key`: it is a key, or inside of one."""

    is_mapping: bool
    in_flow: bool
    is_key: bool
    count: int = 0
    key: str = ""
    """The last key."""

    def next_is_key(self) -> bool:
        self.count += 1
        return self.is_key or (self.is_mapping and self.count % 2 == 1)


@dataclass
class YamlDocument:
    """`language` takes the place of the only key of a document, if that is a language. `chooses`: whether a string, to
    which some keys lead, is a text."""

    text: str
    language: str = ""
    chooses: Callable[[Sequence[str], str], bool] = lambda path, text: True
    root: Literal["", "mapping", "list", "scalar"] = ""
    """What the last document is, after `spans`."""
    languages: list[yaml.ScalarEvent] = field(default_factory=list)
    """The keys of the outermost mapping that are languages, with mappings as values."""
    num_keys: int = 0

    def spans(self) -> Iterator[Span]:
        """Raises DamagedFile."""
        try:
            yield from self._spans()
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f"line {mark.line + 1}: " if mark is not None else ""
            reason = getattr(error, "problem", None) or getattr(error, "reason", "")
            raise DamagedFile(f"the file is no YAML: {where}{reason}") from None

    def _spans(self) -> Iterator[Span]:
        around: list[_Collection] = []
        key: yaml.ScalarEvent | None = None
        resolver = yaml.resolver.Resolver()
        for event in yaml.parse(self.text, Loader=_LOADER):
            if isinstance(event, yaml.CollectionEndEvent):
                around.pop()
            elif isinstance(event, yaml.DocumentEndEvent):
                yield from self._language()
            elif isinstance(event, yaml.NodeEvent):
                is_key = bool(around) and around[-1].next_is_key()
                if not around:
                    self.root = _kind(event)
                if self.root == "scalar" and isinstance(event, yaml.ScalarEvent) and event.value and self.language:
                    raise DamagedFile("the file has no mapping and no list: it is no YAML, or has no strings")
                if len(around) == 1 and around[0].is_mapping:
                    self._note_language(key if not is_key else None, event, is_key)
                    key = event if is_key and isinstance(event, yaml.ScalarEvent) else None
                if isinstance(event, yaml.CollectionStartEvent):
                    is_mapping = isinstance(event, yaml.MappingStartEvent)
                    around.append(_Collection(is_mapping, bool(event.flow_style), is_key))
                    if len(around) > _DEEPEST:
                        raise DamagedFile(f"the file has lists or mappings more than {_DEEPEST} deep")
                elif isinstance(event, yaml.ScalarEvent) and is_key:
                    around[-1].key = event.value
                elif (
                    isinstance(event, yaml.ScalarEvent) and _is_text(event, resolver) and self._is_chosen(around, event)
                ):
                    yield self._value(event, any(collection.in_flow for collection in around))

    def _is_chosen(self, around: Sequence[_Collection], event: yaml.ScalarEvent) -> bool:
        return self.chooses([each.key for each in around if each.is_mapping], event.value)

    def _note_language(self, key: yaml.ScalarEvent | None, event: yaml.NodeEvent, is_key: bool) -> None:
        self.num_keys += is_key
        if key is not None and is_language(key.value) and isinstance(event, yaml.MappingStartEvent):
            self.languages.append(key)

    def _language(self) -> Iterator[Span]:
        """The key of the only language of a document. Raises DamagedFile for several."""
        if not self.language:
            return
        if len(self.languages) > 1 and len(self.languages) == self.num_keys:
            names = ", ".join(key.value for key in self.languages[:5])
            raise DamagedFile(f"the file has the strings of several languages ({names}); send those of one language")
        if len(self.languages) == 1 and self.num_keys == 1:
            start, end = self._place(self.languages[0])
            style = self.languages[0].style
            content = write_double(self.language) if style == '"' else write_plain(self.language, in_flow=True)
            yield replacement(start, end, content)
        self.languages, self.num_keys = [], 0

    def _place(self, event: yaml.ScalarEvent) -> tuple[int, int]:
        start, end = _index(event.start_mark), _index(event.end_mark)
        if (event.anchor is not None or event.tag is not None) and (match := _PROPERTIES.match(self.text, start, end)):
            start = match.end()
        return start, end

    def _value(self, event: yaml.ScalarEvent, in_flow: bool) -> Span:
        start, end = self._place(event)
        if event.style in ("|", ">"):
            block = Block.of(self.text[start:end], event.value)
            return value(start, end, block.text, block.write)
        if event.style == '"':
            return value(start, end, event.value, write_double)
        if event.style == "'":
            return value(start, end, event.value, write_single)
        return value(start, end, event.value, lambda text: write_plain(text, in_flow))


def _kind(event: yaml.NodeEvent) -> Literal["mapping", "list", "scalar"]:
    if isinstance(event, yaml.MappingStartEvent):
        return "mapping"
    return "list" if isinstance(event, yaml.SequenceStartEvent) else "scalar"


def _index(mark: _Mark | None) -> int:
    return 0 if mark is None else mark.index


def _is_text(event: yaml.ScalarEvent, resolver: yaml.resolver.Resolver) -> bool:
    """Whether a scalar is a string with letters, and no symbol of Ruby."""
    if not has_letters(event.value) or event.tag not in (None, "!", _STRING):
        return False
    is_plain = event.style not in ("|", ">", '"', "'")
    if not is_plain or event.tag is not None:
        return True
    tag = resolver.resolve(yaml.ScalarNode, event.value, (True, False))  # type: ignore[no-untyped-call]  # as its stubs say
    return tag == _STRING and not _SYMBOL.fullmatch(event.value)
