"""What papers report, to stand beside rows of the same order: other data, other sizes; only directions compare."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperRow:
    """Test-set figures of one N-gram order (None: full attention) in one of a paper's experiments."""

    source: str
    task: str
    order: int | None
    log_perplexity: float
    bleu: float


CHELBA = "Chelba et al. 2019, Faster Transformer Decoding: N-gram Masked Self-Attention"
EN_DE = f"{CHELBA}, Table 1"
EN_FR = f"{CHELBA}, Table 2"

PAPER_ROWS = (
    PaperRow(EN_DE, "WMT'18 en-de", 3, 2.76, 28.0),
    PaperRow(EN_DE, "WMT'18 en-de", 4, 2.72, 28.4),
    PaperRow(EN_DE, "WMT'18 en-de", 6, 2.68, 28.3),
    PaperRow(EN_DE, "WMT'18 en-de", 8, 2.66, 28.2),
    PaperRow(EN_DE, "WMT'18 en-de", 10, 2.65, 28.3),
    PaperRow(EN_DE, "WMT'18 en-de", None, 2.64, 28.6),
    PaperRow(EN_FR, "WMT'14 en-fr", 2, 2.52, 36.7),
    PaperRow(EN_FR, "WMT'14 en-fr", 3, 2.21, 40.3),
    PaperRow(EN_FR, "WMT'14 en-fr", 4, 2.19, 40.4),
    PaperRow(EN_FR, "WMT'14 en-fr", 6, 2.17, 41.1),
    PaperRow(EN_FR, "WMT'14 en-fr", 8, 2.17, 40.7),
    PaperRow(EN_FR, "WMT'14 en-fr", 10, 2.17, 40.8),
    PaperRow(EN_FR, "WMT'14 en-fr", None, 2.16, 41.1),
)
