"""CTranslate2's map of vocabularies (`vmap.txt`): lines of source words, a tab, and the target words that may translate
them. A line without source words is for all sentences. There are no probabilities.

CTranslate2 adds the lists of all sequences of words that a sentence has. Ours go by single words: the list of a
sequence counts for its first word.
"""

from collections.abc import Mapping
from pathlib import Path

from export.importers import ImportRefused
from export.importers.ctranslate2.vocabulary import Words
from export.importers.shortlists import Lists, plan_of
from export.onnx_graph.shortlist import ShortlistPlan
from model.config import ModelConfig

MAX_LINE = 2**22
"""Characters of a line."""


def read_map(path: Path, source: Mapping[str, int], target: Mapping[str, int]) -> tuple[list[int], Lists]:
    """The target ids for all sentences, and the ids for every id of the source. Words that the vocabularies lack are
    left out, as in CTranslate2. Raises ImportRefused."""
    everywhere: dict[int, None] = {}
    lists: list[dict[int, None]] = [{} for _ in range(1 + max(source.values()))]
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            while line := file.readline(MAX_LINE):
                if len(line) == MAX_LINE:
                    raise ImportRefused(f"{path} has a line of more than {MAX_LINE} characters: it is no map of words")
                words, tab, translations = line.rstrip("\r\n").partition("\t")
                if not tab:
                    raise ImportRefused(f"{path} has a line without a tab: it is no map of words")
                listed = {target[word]: None for word in translations.split(" ") if word in target}
                first = words.split(" ")[0]
                if not words:
                    everywhere |= listed
                elif first in source:
                    lists[source[first]] |= listed
    except (OSError, UnicodeDecodeError) as error:
        raise ImportRefused(f"{path} cannot be read: {error}") from error
    return [*everywhere], [list(listed) for listed in lists]


def find_plan(path: Path, words: Words, config: ModelConfig) -> ShortlistPlan | None:
    """The shortlist of a model; None where it is not worth it. Raises ImportRefused."""
    everywhere, lists = read_map(path, words.source, words.target)
    return plan_of(lists, config, everywhere)
