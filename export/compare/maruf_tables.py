"""Maruf et al. 2019, Tables 2 to 4, with the claims of its text; and hypotheses and controls of ours."""

import dataclasses

from export.compare.conditions import ALONE, ANOTHERS, OFFLINE, ONLINE, SHUFFLED, WITH, WITHOUT
from export.compare.papers import MARUF, OWN, PaperClaim, PaperTable, better, equal
from model.config import CONTEXT_ATTENTIONS, CONTEXT_SIDES

COLUMNS = ("BLEU, TED", "BLEU, News", "BLEU, Europarl")
TRANSFORMER = (23.28, 22.78, 28.72)
"""The sentence model."""
BLEU = {
    # row: offline (Table 2), online (Table 3)
    "encoder-flat-sentence": ((24.47, 24.78, 29.60), (24.38, 24.46, 29.59)),
    "encoder-flat-word": ((24.55, 24.55, 29.63), (24.22, 24.84, 29.67)),
    "encoder-sparse-soft": ((24.23, 24.76, 29.72), (24.34, 24.54, 29.75)),
    "encoder-sparse-sparse": ((24.27, 24.66, 29.64), (24.42, 24.73, 29.39)),
    "decoder-flat-sentence": ((24.38, 24.67, 29.67), (24.29, 24.75, 29.56)),
    "decoder-flat-word": ((24.27, 24.23, 29.68), (24.02, 24.17, 29.90)),
    "decoder-sparse-soft": ((24.19, 24.67, 29.69), (24.62, 24.36, 29.80)),
    "decoder-sparse-sparse": ((24.14, 24.49, 29.59), (24.43, 24.58, 29.64)),
}
CONTROLLED = ("encoder-sparse-soft", "all-encoder-sparse-soft")


def at(row: str, condition: str) -> str:
    return f"documents/{row}, {condition}"


FLAT, HIERARCHICAL = ("flat-sentence", "flat-word"), ("sparse-soft", "sparse-sparse")
NOT_SHOWN = "in these sets hardly any sentence needs another, so that a layer can only cost"
"""Why log-perplexity on them says nothing of the paper's BLEU on its talks."""


def between_kinds(text: str, side: str, condition: str, worse: tuple[str, ...], than: tuple[str, ...]) -> PaperClaim:
    """Claims that both kinds of `than` together are better than both of `worse`."""
    rows = (tuple(at(f"{side}-{kind}", condition) for kind in kinds) for kinds in (worse, than))
    return PaperClaim(text, ((next(rows), next(rows)),))


def incomparable(claim: PaperClaim) -> PaperClaim:
    return dataclasses.replace(claim, incomparable=NOT_SHOWN)


def table(title: str, condition: str, column: int) -> PaperTable:
    """The sentence model first, then every layer under one condition. Of the encoder's layers the paper's best on talks
    is a flat one offline (24.55 beside 24.27), and a hierarchical one online (24.42 beside 24.38)."""
    figures = {at("encoder-flat-sentence", ALONE): TRANSFORMER}
    figures |= {at(row, condition): scores[column] for row, scores in BLEU.items()}
    flat_is_best = {("encoder", OFFLINE)}
    claims = [
        better(f"every context layer beats its sentence model, {condition}",
               *((at(row, ALONE), at(row, condition)) for row in BLEU)),
        *(
            between_kinds(f"flat attention beats hierarchical attention on talks, {side}, {condition}",
                          side, condition, HIERARCHICAL, FLAT)
            if (side, condition) in flat_is_best
            else between_kinds(f"hierarchical attention beats flat attention, {side}, {condition}",
                               side, condition, FLAT, HIERARCHICAL)
            for side in CONTEXT_SIDES
        ),
    ]  # fmt: skip
    return PaperTable(MARUF, title, COLUMNS, figures, tuple(map(incomparable, claims)))


SECTION_4_2 = PaperTable(
    MARUF,
    "section 4.2: offline against online",
    (),
    {at(row, condition): () for row in BLEU for condition in (OFFLINE, ONLINE)},
    (
        incomparable(
            equal("offline and online are close (a claim of BLEU)",
                  (at("encoder-sparse-soft", ALONE), at("encoder-sparse-soft", OFFLINE)),
                  *((at(row, OFFLINE), at(row, ONLINE)) for row in BLEU))
        ),
    ),
)  # fmt: skip
CONTROLS = PaperTable(
    OWN,
    "controls of context",
    (),
    {
        **{at(row, condition): () for row in (*CONTROLLED, *(f"{name}-shuffled" for name in CONTROLLED))
           for condition in (ALONE, OFFLINE, SHUFFLED)},
        at("all-no-context", ALONE): (),
    },
    tuple(map(incomparable, (
        better("a layer gains more from its own document than from another",
               *((at(row, SHUFFLED), at(row, OFFLINE)) for row in (*BLEU, "all-encoder-sparse-soft"))),
        *(
            better(f"training in the true context beats training in another document's: {name}",
                   (at(f"{name}-shuffled", OFFLINE), at(name, OFFLINE)))
            for name in CONTROLLED
        ),
        better("training everything with context beats training everything without",
               (at("all-no-context", ALONE), at("all-encoder-sparse-soft", OFFLINE))),
    ))),
    "shuffled: at test every sentence sees another document's sentences. ROW-shuffled: trained that way.",
)  # fmt: skip

GROUPS = {
    **{side: tuple(f"{side}-{kind}" for kind in CONTEXT_ATTENTIONS) for side in CONTEXT_SIDES},
    "trained otherwise": ("encoder-sparse-soft-online", "encoder-sparse-soft-offline", "all-encoder-sparse-soft"),
}
JUDGED = (*(row for rows in GROUPS.values() for row in rows), "encoder-sparse-soft-shuffled")
MARUF_ITEMS = PaperTable(
    MARUF,
    "Table 4: contrastive items",
    (),
    {at(row, condition): () for row in JUDGED for condition in (WITHOUT, ANOTHERS, WITH)},
    tuple(
        better(f"with its document a layer finds more right answers than the sentence model, {name}",
               *((at(row, WITHOUT), at(row, WITH)) for row in rows))
        for name, rows in GROUPS.items()
    ),
    "Without context, after another item's sentences, and after its own. The paper's items are those of Müller et al. "
    "2018 on talks, by the distance of the antecedent; these are made items and those of other sets.",
)  # fmt: skip
OWN_ITEMS = PaperTable(
    OWN,
    "contrastive items",
    (),
    MARUF_ITEMS.figures,
    (
        *(
            better(f"what a layer finds comes of the document, another's tells it less: {name}",
                   *((at(row, ANOTHERS), at(row, WITH)) for row in rows))
            for name, rows in GROUPS.items()
        ),
        *(
            between_kinds(f"hierarchical attention finds more than flat attention, {side}", side, WITH, FLAT,
                          HIERARCHICAL)
            for side in CONTEXT_SIDES
        ),
        *(
            better(f"words tell more than sentences, {side}",
                   (at(f"{side}-flat-sentence", WITH), at(f"{side}-flat-word", WITH)))
            for side in CONTEXT_SIDES
        ),
        better("context in both languages tells more than in the source language",
               *((at(f"encoder-{kind}", WITH), at(f"decoder-{kind}", WITH))
                 for kind in CONTEXT_ATTENTIONS)),
        better("a layer that saw its document in training finds more than one that saw another's",
               (at("encoder-sparse-soft-shuffled", WITH), at("encoder-sparse-soft", WITH))),
        better("it finds more where everything learns",
               (at("encoder-sparse-soft", WITH), at("all-encoder-sparse-soft", WITH))),
    ),
)  # fmt: skip

ITEM_TABLES = (MARUF_ITEMS, OWN_ITEMS)
MARUF_TABLES = (table("Table 2: offline", OFFLINE, 0), table("Table 3: online", ONLINE, 1), SECTION_4_2, CONTROLS)
