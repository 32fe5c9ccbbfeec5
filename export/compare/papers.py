"""The figures and claims of papers beside our rows, read from papers.yaml. Data and sizes differ from the papers', so
only directions can be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_TEXT = Path(__file__).with_name("papers.yaml").read_text(encoding="utf-8")
_VALUES = yaml.safe_load(_TEXT)
CHELBA, YANG, NGUYEN, MARUF, OWN = (
    str(_VALUES["sources"][name]) for name in ("chelba", "yang", "nguyen", "maruf", "own")
)
UNTRIED = {_VALUES["sources"][name]: tuple(parts) for name, parts in _VALUES["untried"].items()}
"""Source -> parts of the paper that no recipe trains and nothing measures."""
ATTENTION_DEVIATIONS, CONTEXT_DEVIATIONS = (tuple(_VALUES["deviations"][name]) for name in ("attention", "context"))
NOTES: dict[str, str] = _VALUES["notes"]
"""Notes below the tables of the page."""
PLUS_MINUS = NOTES["plus_minus"]
INFERIOR = 0.02
"""Nats per token by which a variant may be worse and still count as good enough: the gap that Chelba et al. have
between N=8 and full attention on English-German (2.66 and 2.64 on the test set; 0.03 on the dev set; 0.01 and 0.00 on
English-French)."""


@dataclass(frozen=True)
class OrderRow:
    """Test-set figures of one N-gram order (None: full attention) in one of a paper's experiments."""

    table: str
    task: str
    order: int | None
    log_perplexity: float
    bleu: float


CHELBA_ROWS = tuple(
    OrderRow(experiment["table"], experiment["task"], order, *figures)
    for experiment in _VALUES["orders"]
    for order, figures in experiment["figures"].items()
)

Side = tuple[str, ...]
"""Names of bundled rows; of rows with context, with the condition: "documents/encoder-flat-word, offline"."""


@dataclass(frozen=True)
class PaperClaim:
    """Every step (worse rows, better rows) claims that the log-perplexities of the worse rows sum to more than those of
    the better rows. With `beside` the claim is a tie: both sums are equal, and the tie is tested against the size of
    the effect `beside`. `incomparable` says why our rows cannot answer the claim."""

    text: str
    steps: tuple[tuple[Side, Side], ...]
    beside: tuple[Side, Side] | None = None
    incomparable: str = ""

    @classmethod
    def parse(cls, text: str, steps: Sequence[str], beside: str = "", incomparable: str = "") -> "PaperClaim":
        """Steps and effect as "WORSE > BETTER", each side the names of rows with " + " between them."""
        effect = _parse_step(beside) if beside else None
        return cls(text, tuple(map(_parse_step, steps)), effect, incomparable)


def _parse_step(text: str) -> tuple[Side, Side]:
    worse, better = (tuple(side.split(" + ")) for side in text.split(" > "))
    return worse, better


@dataclass(frozen=True)
class PaperTable:
    """One table: for each of our rows, the first of them the base, the paper's figures in `columns` (None where it has
    none). `note` says how our rows differ."""

    source: str
    title: str
    columns: tuple[str, ...]
    figures: Mapping[str, tuple[float | None, ...]]
    claims: tuple[PaperClaim, ...]
    note: str = ""

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> "PaperTable":
        """A table of papers.yaml."""
        incomparable = values.get("incomparable", "")
        claims = []
        for text, claim in values["claims"].items():
            given = {"steps": claim} if isinstance(claim, list) else claim
            claims.append(PaperClaim.parse(text, **given, incomparable=incomparable))
        figures = {name: tuple(numbers) for name, numbers in values["figures"].items()}
        source, columns = _VALUES["sources"][values["source"]], tuple(values["columns"])
        return cls(source, values["title"], columns, figures, tuple(claims), values.get("note", ""))

    @property
    def is_own(self) -> bool:
        """A hypothesis of ours, which no paper states."""
        return self.source == OWN

    @property
    def author(self) -> str:
        """ "Yang et al. 2018" """
        return self.source.partition(",")[0]

    @property
    def reference(self) -> str:
        """ "Yang et al. 2018, Table 1" """
        return f"{self.author}, {self.title.partition(':')[0]}"

    @property
    def base(self) -> str:
        return next(iter(self.figures))


ATTENTION_TABLES, CONTEXT_TABLES, ITEM_TABLES = (
    tuple(map(PaperTable.parse, _VALUES[name])) for name in ("attention", "context", "items")
)
LONGER_TABLES = tuple(
    table
    for table in map(PaperTable.parse, yaml.safe_load(_TEXT.replace("small/", "longer/"))["attention"])
    if table.base.startswith("longer/")
)
"""The same tables of the rows that were trained three times as long."""
PAPER_TABLES = (*ATTENTION_TABLES, *LONGER_TABLES, *CONTEXT_TABLES)
CONTRASTIVE_ITEMS, OWN_ITEMS = ITEM_TABLES
"""Maruf et al. 2019, Table 4, and own hypotheses about contrastive items."""
