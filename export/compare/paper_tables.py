"""The papers' tables whose rows are in model/recipes, with the claims that their texts make of them."""

import dataclasses

from export.compare.maruf_tables import MARUF_TABLES
from export.compare.papers import CHELBA, MARUF, NGUYEN, YANG, PaperClaim, PaperTable, Side, better, equal

FULL, RELATIVE, LOCAL = "small/full", "small/relative", "small/localness-query"
LOCAL_FULL = "small/localness-query-full"
WINDOWS = "small/window-"
ALL, PAIR, SEGMENTS = WINDOWS + "all", WINDOWS + "enc-aw-dec-mw", WINDOWS + "cross-aw-seg"

ZH_EN_DEV = ("BLEU, WMT'17 zh-en dev",)
EN_DE = ("BLEU, WMT'14 en-de",)

YANG_TABLES = (
    PaperTable(
        YANG,
        "Table 1, in the lower layers: what decides the width",
        ZH_EN_DEV,
        {FULL: (22.59,), "small/localness-fixed": (23.07,), "small/localness-layer": (23.13,), LOCAL: (23.13,),
         "small/localness-head": (None,)},
        (
            better("every window beats plain attention", (FULL, "small/localness-fixed"),
                   (FULL, "small/localness-layer"), (FULL, LOCAL)),
            better("predicted windows beat the fixed one", ("small/localness-fixed", "small/localness-layer"),
                   ("small/localness-fixed", LOCAL)),
        ),
        "The paper's windows stand in all layers of the encoder, these in the lower half. The window per head is the "
        "model of its Figure 2, without a figure in BLEU.",
    ),
    PaperTable(
        YANG,
        "Table 1: what decides the width",
        ZH_EN_DEV,
        {FULL: (22.59,), "small/localness-fixed-full": (23.07,), "small/localness-layer-full": (23.13,),
         LOCAL_FULL: (23.13,), "small/localness-head-full": (None,)},
        (
            better("every window beats plain attention", (FULL, "small/localness-fixed-full"),
                   (FULL, "small/localness-layer-full"), (FULL, LOCAL_FULL)),
            better("predicted windows beat the fixed one",
                   ("small/localness-fixed-full", "small/localness-layer-full"),
                   ("small/localness-fixed-full", LOCAL_FULL)),
        ),
    ),
    PaperTable(
        YANG,
        "Table 2: which layers of the encoder",
        ZH_EN_DEV,
        {LOCAL_FULL: (23.13,), "small/localness-query-layer-1": (23.20,), LOCAL: (23.29,),
         "small/localness-query-layers-2-3": (23.22,), "small/localness-query-layer-3": (None,)},
        (
            better("the lower half is better than all layers", (LOCAL_FULL, LOCAL)),
            better("the lower half is better than the upper", ("small/localness-query-layers-2-3", LOCAL)),
        ),
        "Of the paper's six layers: all, 1, 1-3 and 4-6; of our three: all, 1, 1-2 and 2-3.",
    ),
    PaperTable(
        YANG,
        "Table 3: where else",
        ZH_EN_DEV,
        {LOCAL: (23.29,), "small/localness-query-enc-dec": (23.27,), "small/localness-query-enc-cross": (23.33,),
         "small/localness-query-all": (23.19,)},
        (
            equal("decoder and cross-attention gain nothing", (FULL, LOCAL), (LOCAL, "small/localness-query-enc-dec"),
                  (LOCAL, "small/localness-query-enc-cross"), (LOCAL, "small/localness-query-all")),
        ),
    ),
    PaperTable(
        YANG,
        "Table 4: together with relative positions",
        ("BLEU, WMT'17 zh-en", "BLEU, WMT'14 en-de"),
        {FULL: (24.13, 27.64), RELATIVE: (24.53, 27.94), LOCAL: (24.77, 28.11),
         "small/localness-query-relative": (24.96, 28.54)},
        (
            better("relative positions and localness each beat plain attention", (FULL, RELATIVE), (FULL, LOCAL)),
            better("both together beat each", (RELATIVE, "small/localness-query-relative"),
                   (LOCAL, "small/localness-query-relative")),
        ),
    ),
    PaperTable(
        YANG,
        "Table 5: heads",
        ZH_EN_DEV,
        {"small/full-heads-1": (22.05,), "small/localness-query-heads-1": (22.18,), "small/full-heads-8": (22.59,),
         "small/localness-query-heads-8": (23.29,)},
        (
            PaperClaim("localness gains more with eight heads than with one", (
                (("small/full-heads-8", "small/localness-query-heads-1"),
                 ("small/full-heads-1", "small/localness-query-heads-8")),
            )),
        ),
    ),
)  # fmt: skip

NGUYEN_TABLES = (
    PaperTable(
        NGUYEN,
        "Table 1: the models",
        ("BLEU, WMT'14 en-de", "BLEU, WMT'14 en-fr"),
        {FULL: (27.46, 39.21), RELATIVE: (27.56, 39.37), LOCAL: (27.62, 39.47), PAIR: (28.11, 40.24),
         SEGMENTS: (28.13, 40.06), ALL: (28.25, 40.32)},
        (
            better("windows beat plain attention", (FULL, PAIR), (FULL, SEGMENTS), (FULL, ALL)),
            better("windows beat relative positions and localness", (RELATIVE, ALL), (LOCAL, ALL)),
            better("windows at all three places beat those at fewer", (PAIR, ALL), (SEGMENTS, ALL)),
        ),
    ),
    PaperTable(
        NGUYEN,
        "Table 2: additive (aw) and multiplicative (mw), in the lower half or in all layers",
        EN_DE,
        {FULL: (27.46,)} | {
            f"{WINDOWS}{kind}{layers}": (figure,)
            for kind, figures in {
                "aw-enc": (27.77, 27.90), "mw-enc": (27.25, 27.40), "aw-dec": (27.73, 27.85),
                "mw-dec": (27.88, 28.04), "aw-cross": (27.78, 27.97), "mw-cross": (27.58, 27.79),
            }.items()
            for layers, figure in zip(("-full", ""), figures, strict=True)
        },
        (
            better("in the encoder additive beats multiplicative", (WINDOWS + "mw-enc", WINDOWS + "aw-enc")),
            better("in cross-attention additive beats multiplicative", (WINDOWS + "mw-cross", WINDOWS + "aw-cross")),
            better("in the decoder multiplicative beats additive", (WINDOWS + "aw-dec", WINDOWS + "mw-dec")),
            better("each but the multiplicative encoder beats plain attention", *(
                (FULL, WINDOWS + kind) for kind in ("aw-enc", "aw-dec", "mw-dec", "aw-cross", "mw-cross"))),
            better("the lower half is better than all layers", *(
                (f"{WINDOWS}{kind}-full", WINDOWS + kind)
                for kind in ("aw-enc", "mw-enc", "aw-dec", "mw-dec", "aw-cross", "mw-cross"))),
        ),
    ),
    PaperTable(
        NGUYEN,
        "Table 3: segments of five keys",
        EN_DE,
        {WINDOWS + "aw-cross": (27.97,), SEGMENTS: (28.13,), PAIR: (28.11,), WINDOWS + "enc-aw-seg-dec-mw": (27.91,)},
        (
            better("segments help cross-attention", (WINDOWS + "aw-cross", SEGMENTS)),
            better("segments harm the encoder", (WINDOWS + "enc-aw-seg-dec-mw", PAIR)),
        ),
    ),
    PaperTable(
        NGUYEN,
        "Table 4: against a deeper plain model",
        EN_DE,
        {FULL: (27.46,), LOCAL: (27.62,), "small/full-layers-4": (27.74,), ALL: (28.25,)},
        (better("windows beat one more plain layer", ("small/full-layers-4", ALL)),),
        "The paper goes from six layers to seven, these rows from three to four.",
    ),
    PaperTable(
        NGUYEN,
        "Table 6: language models",
        ("perplexity, 1 billion words",),
        {"language/base": (46.37,), "language/relative": (46.13,), "language/window-mw": (44.00,),
         "language/window-aw": (44.95,)},
        (
            better("windows beat plain attention", ("language/base", "language/window-mw"),
                   ("language/base", "language/window-aw")),
            better("multiplicative beats additive", ("language/window-aw", "language/window-mw")),
        ),
        "The paper counts words and reads English news, these models count pieces of German.",
    ),
)  # fmt: skip

UNTRIED = {
    CHELBA: (
        "BLEU of N=8 and N=10 within 0.3 to 0.4 of full attention (these rows' BLEU is known to 1.5 only)",
        "English-French",
    ),
    YANG: (
        "Table 4's Chinese-English and its big model",
        "Figure 4 (BLEU by length of phrases)",
    ),
    NGUYEN: (
        "Table 5 (sentiment and subject-verb agreement)",
        "English-French",
    ),
    MARUF: (
        "Tables 2 and 3 in Meteor, and their baselines (RNNSearch, Zhang et al., Miculicich et al.)",
        "Table 4's test set, by the distance of the antecedent",
        "the judgement by people",
        "the paper's own training, which learns everything and keeps representations of documents for an epoch or more",
    ),
}
"""What no recipe trains and nothing measures, by paper."""


def of_longer_training(paper: PaperTable) -> PaperTable:
    """The same table of the rows that were trained three times as long."""

    def longer(name: str) -> str:
        return name.replace("small/", "longer/")

    def sides(pair: tuple[Side, Side]) -> tuple[Side, Side]:
        worse, than = pair
        return tuple(map(longer, worse)), tuple(map(longer, than))

    claims = (
        dataclasses.replace(
            claim, steps=tuple(map(sides, claim.steps)), beside=sides(claim.beside) if claim.beside else None
        )
        for claim in paper.claims
    )
    return dataclasses.replace(
        paper,
        figures={longer(name): figures for name, figures in paper.figures.items()},
        claims=tuple(claims),
    )


LONGER_TABLES = tuple(
    of_longer_training(paper) for paper in (*YANG_TABLES, *NGUYEN_TABLES) if paper.base.startswith("small/")
)

PAPER_TABLES = (*YANG_TABLES, *NGUYEN_TABLES, *LONGER_TABLES, *MARUF_TABLES)
