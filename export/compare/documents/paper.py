"""What Maruf et al. 2019 report, to stand beside rows of ours: other data and sizes, only directions compare."""

from dataclasses import dataclass

MARUF = "Maruf et al. 2019, Selective Attention for Context-aware Neural Machine Translation"
TRANSFORMER = "Transformer"
PAPER_SETS = ("TED", "News", "Europarl")


@dataclass(frozen=True)
class PaperRow:
    """BLEU on TED, News and Europarl."""

    row: str
    """Ours of the same kind."""
    offline: tuple[float, float, float]
    online: tuple[float, float, float]


TRANSFORMER_BLEU = (23.28, 22.78, 28.72)
"""The sentence model of Tables 2 and 3."""
BLEU_ROWS = (
    PaperRow("encoder-flat-sentence", (24.47, 24.78, 29.60), (24.38, 24.46, 29.59)),
    PaperRow("encoder-flat-word", (24.55, 24.55, 29.63), (24.22, 24.84, 29.67)),
    PaperRow("encoder-sparse-soft", (24.23, 24.76, 29.72), (24.34, 24.54, 29.75)),
    PaperRow("encoder-sparse-sparse", (24.27, 24.66, 29.64), (24.42, 24.73, 29.39)),
    PaperRow("decoder-flat-sentence", (24.38, 24.67, 29.67), (24.29, 24.75, 29.56)),
    PaperRow("decoder-flat-word", (24.27, 24.23, 29.68), (24.02, 24.17, 29.90)),
    PaperRow("decoder-sparse-soft", (24.19, 24.67, 29.69), (24.62, 24.36, 29.80)),
    PaperRow("decoder-sparse-sparse", (24.14, 24.49, 29.59), (24.43, 24.58, 29.64)),
)

SIZES = {None: (50.0, 86.33), "encoder-flat-sentence": (53.7, 83.84), "encoder-sparse-soft": (54.2, 74.11)}
"""Table 5: millions of parameters, words decoded a second (None: the sentence model)."""
PAPER_WIDTH, PAPER_FFN, PAPER_HEADS = 512, 2048, 8
