"""The comparison as a page: README.md with claims and verdicts, tables.md with all figures, pictures."""

from collections.abc import Sequence
from pathlib import Path

from export.compare.measurements import Measured
from export.compare.papers import ATTENTION_DEVIATIONS, CONTEXT_DEVIATIONS, PLUS_MINUS
from export.compare.plots import plot_quality_against_order, plot_window_masks, plot_window_sizes
from export.compare.report import Comparison, full_sections, markdown, not_trained, short_sections
from export.compare.rows import CompareError
from export.compare.variants import by_seed
from export.compare.windows import SENTENCES, mask_layers, size_panels

PAGE, TABLES, PICTURES = "README.md", "tables.md", "plots"
TRIED = "tried.md"
"""An optional section of the page, written by hand."""
MARK = "<!-- Written by `ringmt compare --out`. -->"
Picture = tuple[str, str]
"""File name and caption."""


def write_page(folder: Path, comparison: Comparison) -> None:
    """README.md, tables.md, and pictures in plots/. Raises CompareError where a page was written by
    hand."""
    for name in (PAGE, TABLES):
        page = folder / name
        if page.is_file() and not page.read_text(encoding="utf-8").startswith(MARK):
            raise CompareError(f"{page} was not written by `ringmt compare`: choose another --out, or remove it first")
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for old in (folder / PICTURES).glob("*.png"):
        old.unlink()
    shown, others = draw(folder / PICTURES, comparison)
    if not any((folder / PICTURES).iterdir()):
        (folder / PICTURES).rmdir()
    tried = [(folder / TRIED).read_text(encoding="utf-8").rstrip()] if (folder / TRIED).is_file() else []
    parts = [
        MARK,
        "# Trained variants, side by side",
        introduction(comparison),
        markdown(short_sections(comparison)),
        *tried,
    ]
    parts += [*gallery("Pictures", shown), deviations(comparison), left_out(comparison), reproduction(comparison.rows)]
    (folder / PAGE).write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    tables = [MARK, "# Every table", PLUS_MINUS, markdown(full_sections(comparison)), *gallery("More pictures", others)]
    (folder / TABLES).write_text("\n\n".join(tables) + "\n", encoding="utf-8")


def introduction(comparison: Comparison) -> str:
    """The question of the page, and the amount of training."""
    tokens = sorted(measured.row.target_tokens / 1e6 for measured in comparison.rows)
    shapes = sorted(
        {
            f"d={config.d_model}, "
            + (f"{config.encoder_layers}+" if config.encoder_layers else "")
            + f"{config.decoder_layers} layers"
            for config in (measured.row.config for measured in comparison.rows)
        }
    )
    amount = f"{tokens[0]:.1f}" if tokens[-1] - tokens[0] < 0.05 else f"{tokens[0]:.1f} to {tokens[-1]:.1f}"
    kinds = "kinds of context layers" if comparison.in_context else "kinds of attention"
    return (
        f"Which {kinds} are worth their cost, if text, order, steps and rates are the same for all? "
        f"Small models ({'; '.join(shapes)}) read {amount} million target tokens each. That is enough to compare them "
        f"with each other, and far too little to translate well or to repeat the papers' figures. {PLUS_MINUS} "
        f"[tables.md]({TABLES}) has every table behind this page: seeds, sets, the papers' own figures. How fast "
        f"variants are served is in [loadtest/bench/results](/loadtest/bench/results/README.md)."
    )


def draw(folder: Path, comparison: Comparison) -> tuple[list[Picture], list[Picture]]:
    """Pictures for the page, and others."""
    shown: list[Picture] = []
    others: list[Picture] = []
    for number, group in enumerate(comparison.orders, start=1):
        name = f"ngram-{number}.png"
        plot_quality_against_order([(order.order, order.log_perplexity) for order in group.orders], folder / name)
        place = shown if group.is_plain else others
        place.append((name, f"Log-perplexity against N, {group.name}"))
    panels = [panel for measured in comparison.rows for panel in size_panels(measured.row.name, measured.window_sizes)]
    if panels:
        plot_window_sizes(panels, folder / "window-sizes.png")
        caption = (
            f"Mean window size D per layer and head, over the queries of {SENTENCES} sentences of every set (Yang et "
            f"al. 2018, Figures 2 and 3; there the first layer's windows are wide, and those above grow with the "
            f"layer; a fixed window has 10 everywhere)"
        )
        shown.append(("window-sizes.png", caption))
    first_seeds = [seeds[0] for seeds in by_seed(comparison.rows)]
    for count, measured in enumerate(measured for measured in first_seeds if measured.window_masks):
        name = f"window-masks-{measured.row.name}.png"
        plot_window_masks(mask_layers(measured.window_masks), folder / name)
        caption = (
            f"Soft windows m of {measured.row.name} over one sentence (Nguyen et al. 2020, appendix), for each layer "
            f"and head: queries down, keys across, 0 dark, 2 bright"
        )
        (others if count else shown).append((name, caption))
    return shown, others


def gallery(title: str, pictures: Sequence[Picture]) -> list[str]:
    if not pictures:
        return []
    return [f"## {title}", *(f"{caption}:\n\n![{caption}]({PICTURES}/{name})" for name, caption in pictures)]


def deviations(comparison: Comparison) -> str:
    lines = CONTEXT_DEVIATIONS if comparison.in_context else ATTENTION_DEVIATIONS
    return "## What differs from the papers\n\n" + "\n".join(f"- {line}" for line in lines)


def left_out(comparison: Comparison) -> str:
    missing = not_trained(comparison)
    text = "Every row of the recipes was trained."
    if missing:
        text = f"Not trained, though their recipes are there: {', '.join(missing)}."
    return f"## Left out\n\n{text}"


def reproduction(rows: Sequence[Measured]) -> str:
    """How to train one of the rows again."""
    known = [measured.row for measured in rows if measured.row.bundled]
    if not known:
        return "## Train one again\n\nThese rows are of no bundled recipe."
    row = min(known, key=lambda row: row.seconds)  # the quickest
    without = sum(not measured.has_weights for measured in known)
    kept = f" {without} of {len(known)} rows are kept without their weights." if without else ""
    return (
        f"## Train one again\n\n```sh\n{row.command}\nringmt zoo RUN FOLDER\nringmt compare FOLDER --data DATA\n```\n\n"
        f"is {row.name}, which took {row.seconds / 60:.1f} minutes. DATA holds the corpora of its recipe as "
        f"NAME.{row.recipe.data.source}.gz and NAME.{row.recipe.data.target}.gz. Every row's line of runs.jsonl has "
        f"its own command, seed and seconds, and `data_sha256` says whether the text is the same. `ringmt zoo` keeps "
        f"the run in fp16.{kept}"
    )
