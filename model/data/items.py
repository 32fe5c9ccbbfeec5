"""Contrastive test sets on disk: .jsonl or .jsonl.gz, one object a line."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.data.corpus import CorpusError, read_lines

NEEDED = ("src", "ref", "contrastive")
GROUPS = ("gender", "template")
"""Optional keys by which results are also grouped."""


@dataclass(frozen=True)
class Antecedent:
    """The noun that a pronoun of the source stands for, in sentence number `sentence` of the context."""

    sentence: int
    noun: str
    translation: str


@dataclass(frozen=True)
class ContrastiveItem:
    source: str
    reference: str
    wrong: tuple[str, ...]
    source_context: tuple[str, ...]
    """Sentences before the source, in order."""
    reference_context: tuple[str, ...]
    """Their translations; empty where the set has none."""
    groups: tuple[tuple[str, str], ...]
    antecedent: Antecedent | None = None
    """None where the set has no antecedents."""


def sentences(value: Any) -> tuple[str, ...]:
    """A context is one sentence, a list of them, or nothing."""
    if not value:
        return ()
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def parse_item(line: str, where: str) -> ContrastiveItem:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{where} is not JSON: {error}") from error
    missing = [key for key in NEEDED if not isinstance(values, dict) or not values.get(key)]
    if missing:
        raise CorpusError(f"{where} lacks '{missing[0]}': an item needs {', '.join(NEEDED)} (and may have src_context)")
    item = ContrastiveItem(
        source=values["src"],
        reference=values["ref"],
        wrong=sentences(values["contrastive"]),
        source_context=sentences(values.get("src_context")),
        reference_context=sentences(values.get("ref_context")),
        groups=tuple((key, str(values[key])) for key in GROUPS if key in values),
        antecedent=parse_antecedent(values.get("antecedent"), where),
    )
    if item.antecedent is not None and not 0 <= item.antecedent.sentence < len(item.source_context):
        raise CorpusError(f"{where}: its antecedent is in a sentence that src_context does not have")
    if item.reference_context and len(item.reference_context) != len(item.source_context):
        raise CorpusError(f"{where}: src_context and ref_context differ in their number of sentences")
    return item


def parse_antecedent(values: Any, where: str) -> Antecedent | None:
    if values is None:
        return None
    try:
        return Antecedent(int(values["sentence"]), str(values["noun"]), str(values["translation"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CorpusError(f"{where}: an antecedent has sentence, noun and translation") from error


def read_items(path: Path) -> list[ContrastiveItem]:
    """Raises CorpusError with file and line for an item that cannot be used."""
    lines = enumerate(read_lines(path), start=1)
    return [parse_item(line, f"{path}, line {number}") for number, line in lines if line.strip()]
