"""What papers report and claim, beside rows of ours. Data and sizes differ, so only directions can be compared."""

from collections.abc import Mapping
from dataclasses import dataclass

CHELBA = "Chelba et al. 2019, Faster Transformer Decoding: N-gram Masked Self-Attention"
YANG = "Yang et al. 2018, Modeling Localness for Self-Attention Networks"
MARUF = "Maruf et al. 2019, Selective Attention for Context-aware Neural Machine Translation"
NGUYEN = "Nguyen et al. 2020, Differentiable Window for Dynamic Local Attention"

OWN = "Own hypotheses"
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


EN_DE = "Table 1", "WMT'18 en-de"
EN_FR = "Table 2", "WMT'14 en-fr"
CHELBA_ROWS = (
    OrderRow(*EN_DE, 3, 2.76, 28.0),
    OrderRow(*EN_DE, 4, 2.72, 28.4),
    OrderRow(*EN_DE, 6, 2.68, 28.3),
    OrderRow(*EN_DE, 8, 2.66, 28.2),
    OrderRow(*EN_DE, 10, 2.65, 28.3),
    OrderRow(*EN_DE, None, 2.64, 28.6),
    OrderRow(*EN_FR, 2, 2.52, 36.7),
    OrderRow(*EN_FR, 3, 2.21, 40.3),
    OrderRow(*EN_FR, 4, 2.19, 40.4),
    OrderRow(*EN_FR, 6, 2.17, 41.1),
    OrderRow(*EN_FR, 8, 2.17, 40.7),
    OrderRow(*EN_FR, 10, 2.17, 40.8),
    OrderRow(*EN_FR, None, 2.16, 41.1),
)

Side = tuple[str, ...]
"""Names of bundled rows; with the condition, of those with context: "documents/encoder-flat-word, offline"."""


@dataclass(frozen=True)
class PaperClaim:
    """Every step (worse rows, better rows) says that the log-perplexities of the first sum to more than those of the
    second; of a tie, that they sum to the same. A tie names the effect `beside` which it means something.
    `incomparable` says why these rows cannot answer."""

    text: str
    steps: tuple[tuple[Side, Side], ...]
    beside: tuple[Side, Side] | None = None
    incomparable: str = ""


@dataclass(frozen=True)
class PaperTable:
    """One table: for each of our rows, the first of them the base, the paper's figures in `columns` (None where it has
    none). `note` says how ours differ."""

    source: str
    title: str
    columns: tuple[str, ...]
    figures: Mapping[str, tuple[float | None, ...]]
    claims: tuple[PaperClaim, ...]
    note: str = ""

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


def better(text: str, *steps: tuple[str, str]) -> PaperClaim:
    """Claims that the second row of every pair is better than the first."""
    return PaperClaim(text, tuple(((worse,), (than,)) for worse, than in steps))


def equal(text: str, beside: tuple[str, str], *steps: tuple[str, str]) -> PaperClaim:
    """Claims that the rows of every pair are the same, beside those of another that are not."""
    (worse, than) = beside
    return PaperClaim(text, tuple(((one,), (other,)) for one, other in steps), ((worse,), (than,)))
