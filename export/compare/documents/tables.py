"""The comparison's tables as Markdown."""

from collections.abc import Sequence

from export.compare.claims import MISSING, Claim
from export.compare.documents.findings import difference, sign_test
from export.compare.documents.measurements import ALONE, CONTEXTS, OFFLINE, MeasuredRow, Plan
from export.compare.documents.paper import (
    BLEU_ROWS,
    PAPER_FFN,
    PAPER_HEADS,
    PAPER_SETS,
    PAPER_WIDTH,
    SIZES,
    TRANSFORMER_BLEU,
)
from export.compare.likelihood import Estimate
from export.compare.measurements import mean_log_perplexity
from export.compare.quality import Quality, qualities
from export.compare.table import NONE, difference_text, estimate_text, table
from model.config import ContextConfig
from model.context import ContextLayer
from model.contrastive.accuracy import by_group
from model.training.checkpoint import load_model

SENTENCE_MODEL = "sentence model"


def parameters_of(width: int, config: ContextConfig) -> int:
    """Parameters of a context layer."""
    return sum(parameter.numel() for parameter in ContextLayer(width, config).parameters())


def overview(rows: Sequence[MeasuredRow]) -> str:
    """What was trained, and how much."""
    cells = []
    for measured in rows:
        row, section = measured.row, measured.row.section
        layer = parameters_of(row.recipe.model.d_model, section.layer) if row.has_context else 0
        context = {"document": "its document", "shuffled": "another document", "none": "none"}[section.context]
        kind = f"{section.layer.attention}, {section.layer.side}" if row.has_context else NONE
        learns = "the layer" if section.freezes_base else "everything"
        cells.append(
            [row.name, kind, learns, context, f"{layer:,}" if layer else NONE, f"{row.target_tokens / 1e6:.2f} M",
             f"{row.seconds / 60:.1f}"]
        )  # fmt: skip
    head = [
        "row",
        "attention, side",
        "learns",
        "context in training",
        "parameters of the layer",
        "target tokens",
        "training, min",
    ]
    return table(head, cells)


def likelihood_table(rows: Sequence[MeasuredRow], sets: Sequence[str]) -> str:
    """The sentence model's log-perplexity, and what context takes from it."""
    cells = []
    reference = sentence_model(rows)
    if reference:
        costs = reference.costs[ALONE]
        every = [costs[name].estimate if name in costs else None for name in sets]
        cells.append([SENTENCE_MODEL, NONE, *map(estimate_text, [*every, mean_log_perplexity(costs)])])
    for measured in rows:
        for condition in CONTEXTS if measured.row.has_context else (ALONE,):
            cells.append([measured.row.name, condition, *changes(measured, condition, reference, sets)])
    return table(["row", "context", *sets, "mean"], cells)


def changes(measured: MeasuredRow, condition: str, reference: MeasuredRow | None, sets: Sequence[str]) -> list[str]:
    """Log-perplexity less the sentence model's, set by set and in the mean."""
    costs = measured.costs.get(condition)
    if costs is None or reference is None:
        return [NONE] * (len(sets) + 1)
    base = reference.costs[ALONE]
    found: list[Estimate | None] = [
        difference([{name: costs[name]}], [{name: base[name]}]) if name in costs and name in base else None
        for name in sets
    ]
    return list(map(difference_text, [*found, difference([costs], [base])]))


def sentence_model(rows: Sequence[MeasuredRow]) -> MeasuredRow | None:
    """A row whose sentence model is the one that all rows began with."""
    return next((one for one in rows if one.row.section.freezes_base and ALONE in one.costs), None)


Qualities = dict[str, dict[str, Quality]]


def quality_of(rows: Sequence[MeasuredRow], name: str, references: Sequence[str]) -> tuple[Qualities, list[str]]:
    """Of everything that translated the set, under names like "ROW, online"; and the signatures."""
    systems: dict[str, list[str]] = {}
    for measured in rows:
        for condition, found in measured.translations.items():
            if name in found:
                is_base = condition == ALONE and measured.row.section.freezes_base
                systems[SENTENCE_MODEL if is_base else f"{measured.row.name}, {condition}"] = found[name]
    if not systems:
        return {}, []
    return qualities(systems, references, SENTENCE_MODEL)


def quality_cell(quality: Quality | None, base: Quality | None) -> str:
    """Score, change, p-value."""
    if quality is None:
        return NONE
    if base is None or quality.p_value is None:
        return f"{quality.score:.2f} ± {quality.half_width:.1f}"
    return f"{quality.score:.2f} ({quality.score - base.score:+.2f}, p {quality.p_value:.2f})"


def paper_bleu_table(condition: str, found: dict[str, Qualities]) -> str:
    """Table 2 (offline) or 3 (online): the paper's BLEU, then ours."""
    sets = list(found)
    base = {name: found.get(name, {}).get(SENTENCE_MODEL, {}).get("BLEU") for name in sets}
    theirs = [f"{score:.2f}" for score in TRANSFORMER_BLEU]
    cells = [[SENTENCE_MODEL, *theirs, *(quality_cell(base[name], None) for name in sets)]]
    for paper in BLEU_ROWS:
        scores = paper.offline if condition == OFFLINE else paper.online
        gains = [f"{score:.2f} ({score - plain:+.2f})" for score, plain in zip(scores, TRANSFORMER_BLEU, strict=True)]
        ours = [found.get(name, {}).get(f"{paper.row}, {condition}", {}).get("BLEU") for name in sets]
        cells.append(
            [paper.row, *gains, *(quality_cell(one, base[name]) for one, name in zip(ours, sets, strict=True))]
        )
    head = ["row", *(f"{name}, paper" for name in PAPER_SETS), *(f"{name}, ours" for name in sets)]
    return table(head, cells)


def chrf_table(found: dict[str, Qualities]) -> str:
    """Every system on every set."""
    names = list(dict.fromkeys(name for scores in found.values() for name in scores))
    cells = []
    for name in names:
        scores = [found[one].get(name, {}) for one in found]
        bases = [found[one].get(SENTENCE_MODEL, {}) for one in found]
        both = [
            quality_cell(score.get(metric), base.get(metric))
            for score, base in zip(scores, bases, strict=True)
            for metric in ("BLEU", "chrF")
        ]
        cells.append([name, *both])
    return table(["system", *(f"{one}, {metric}" for one in found for metric in ("BLEU", "chrF"))], cells)


def size_table(rows: Sequence[MeasuredRow]) -> str:
    """Table 5: parameters at the paper's size and at ours, and decoding speed."""
    reference = sentence_model(rows)
    if reference is None:
        return ""
    plain = sum(parameter.numel() for parameter in load_model(reference.row.base).parameters())
    alone = next((one.speeds[ALONE] for one in rows if ALONE in one.speeds), None)
    cells = [[SENTENCE_MODEL, *paper_size(None), NONE, f"{plain:,}", NONE if alone is None else f"{alone:,.0f}"]]
    for measured in rows:
        row = measured.row
        if row.name not in [paper.row for paper in BLEU_ROWS]:
            continue
        layer = row.section.layer
        there = ContextConfig(layer.attention, layer.side, PAPER_HEADS, PAPER_FFN)
        speed = measured.speeds.get(OFFLINE)
        share = "" if speed is None or alone is None else f" ({speed / alone - 1:+.0%})"
        here = parameters_of(row.recipe.model.d_model, layer)
        cells.append(
            [row.name, *paper_size(row.name), f"{parameters_of(PAPER_WIDTH, there):,}", f"{plain + here:,}",
             NONE if speed is None else f"{speed:,.0f}{share}"]
        )  # fmt: skip
    head = [
        "row",
        "parameters, paper",
        "words/s, paper",
        f"our layer at d={PAPER_WIDTH}",
        "parameters, ours",
        "words/s, ours",
    ]
    return table(head, cells)


def paper_size(row: str | None) -> list[str]:
    if row not in SIZES:
        return [NONE, NONE]
    (millions, speed), (base, plain) = SIZES[row], SIZES[None]
    if row is None:
        return [f"{millions:.1f} M", f"{speed:.2f}"]
    return [f"{millions:.1f} M (+{millions - base:.1f} M)", f"{speed:.2f} ({speed / plain - 1:+.0%})"]


def zero_table(rows: Sequence[MeasuredRow]) -> str:
    """Where layers look: shares over all sets."""
    cells = []
    for measured in rows:
        for condition, sets in measured.looks.items():
            total = type(next(iter(sets.values())))()
            for look in sets.values():
                total.add(look)
            shares = total.shares()
            words = f"{shares['zero words']:.1%}" if total.words else NONE
            cells.append(
                [measured.row.name, condition, f"{shares['zero sentences']:.1%}", words, f"{shares['used']:.1%}",
                 f"{shares['context']:.1%}"]
            )  # fmt: skip
    return table(["row", "context", "zero sentences", "zero words", "sentences used", "context in the gate"], cells)


def contrastive_table(rows: Sequence[MeasuredRow], plan: Plan, name: str) -> str:
    """Accuracy of all items and of every gender, with context and without."""
    items = plan.read_items(name)
    groups = [group for group in by_group(items, [True] * len(items)) if not group.startswith("template ")]
    first = next((one for one in rows if name in one.right and one.row.section.freezes_base), None)
    cells = []
    for measured in rows:
        right = measured.right.get(name, {})
        for condition, found in right.items():
            is_shown = condition == "with context" or not measured.row.section.freezes_base
            if not is_shown and measured is not first:
                continue
            accuracies = by_group(items, found)
            shares = [
                f"{accuracies[g].share:.1%} ({accuracies[g].low:.1%} to {accuracies[g].high:.1%})" for g in groups
            ]
            change = NONE
            if condition == "with context":
                gained, lost, p_value = sign_test(right["without context"], found)
                change = f"+{gained} -{lost}, p {p_value:.2f}"
            label = SENTENCE_MODEL if not is_shown else f"{measured.row.name}, {condition}"
            cells.append([label, *shares, change])
    counts = by_group(items, [True] * len(items))
    head = ["row", *(f"{group} ({counts[group].items})" for group in groups), "items gained and lost"]
    return table(head, cells)


def in_words(verdict: str) -> str:
    return "not measured" if verdict == MISSING else verdict


def claim_text(claim: Claim) -> str:
    cells = [[step.label, difference_text(step.difference), in_words(step.verdict)] for step in claim.steps]
    return f"**{claim.text}: {in_words(claim.verdict)}** ({claim.source})\n\n" + table(
        ["difference in log-perplexity", "nats per token", ""], cells
    )
