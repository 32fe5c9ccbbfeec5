"""The comparison as a page."""

from collections.abc import Sequence
from pathlib import Path

from export.compare.documents.findings import found_claims
from export.compare.documents.measurements import LONGEST, OFFLINE, ONLINE, MeasuredRow, Plan
from export.compare.documents.paper import MARUF
from export.compare.documents.tables import (
    chrf_table,
    claim_text,
    contrastive_table,
    in_words,
    likelihood_table,
    overview,
    paper_bleu_table,
    quality_of,
    size_table,
    zero_table,
)
from export.compare.rows import CompareError

PAGE = "README.md"
TRIED = "tried.md"
"""Written by hand, beside the page: a section of it, where it is there."""
MARK = "<!-- Written by `ringmt compare-documents --out`. -->"


def report(rows: Sequence[MeasuredRow], plan: Plan) -> str:
    """Sections that have something to say, as Markdown."""
    sections = [
        ("Rows", f"{overview(rows)}\n\n{text_note(rows, plan)}"),
        *claims_section(rows),
        ("Log-perplexity", f"{likelihood_table(rows, plan.sets)}\n\n{LIKELIHOOD_NOTE}"),
        *quality_sections(rows, plan),
        ("Table 5: parameters and speed", f"{size_table(rows)}\n\n{SIZE_NOTE}"),
        ("Exact zeros", f"{zero_table(rows)}\n\n{ZERO_NOTE}"),
        *(
            (f"Contrastive set {name}", f"{contrastive_table(rows, plan, name)}\n\n{CONTRASTIVE_NOTE}")
            for name in plan.contrastive
            if any(name in measured.right for measured in rows)
        ),
    ]
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in sections)


LIKELIHOOD_NOTE = (
    "First the sentence model's nats per target token, EOS included; then what rows cost more (+) or less (-), ± "
    "standard error over whole documents. 'alone' is a control without context. Context on the decoder's side is the "
    "sentence model's own greedy translation."
)
SIZE_NOTE = (
    "Parameters are exact counts. Words/s, ours: greedy decoding in PyTorch, one thread, offline, document by "
    "document, states and first pass included, over processor time; all in turn in one run, medians. The paper's are "
    "its encoder side on a GPU."
)
ZERO_NOTE = (
    "Of the weights that one word of a sentence gives to visible sentences, and to the words in them, the share that "
    "is exactly zero; the share of visible sentences that any head of any word of a sentence uses (the rest can be "
    "left out without changing anything); and the mean of 1 - gate, how much of the layer's output gets through. "
    "All sets together."
)
CONTRASTIVE_NOTE = (
    "Accuracy with 95% intervals (Wilson). Items that context gains and loses against the same row without it, and the "
    "two-sided exact p-value of that split (McNemar)."
)


def text_note(rows: Sequence[MeasuredRow], plan: Plan) -> str:
    """What was measured on."""
    row = rows[0].row
    both = [plan.texts(row, count) for count in (plan.scored, plan.translated)]
    shares = "; ".join(
        f"{scored.name}: {len(scored.documents)} documents with {len(scored.sentences):,} sentences scored, "
        f"{len(translated.documents)} with {len(translated.sentences):,} translated"
        for scored, translated in zip(*both, strict=True)
    )
    return (
        f"All rows are on the sentence model {row.section.base} and began with its weights. Measured on the first "
        f"documents of each set ({shares}), cut after {plan.most} sentences, pairs of more than "
        f"{row.recipe.data.max_pair_length} pieces left out. Test sets are never tuned on. Decoding is greedy, cut at "
        f"{LONGEST} tokens."
    )


def claims_section(rows: Sequence[MeasuredRow]) -> list[tuple[str, str]]:
    claims = found_claims(rows)
    if not claims:
        return []
    lines = "\n".join(f"- {claim.text}: **{in_words(claim.verdict)}** ({claim.source})" for claim in claims)
    note = (
        "By paired differences in log-perplexity, document by document, the mean over sets; resolved beyond 1.96 "
        "standard errors. One seed each: how other seeds would have turned out is not in the errors."
    )
    details = "\n\n".join(map(claim_text, claims))
    return [
        (
            "What agrees with the paper and what does not",
            f"{lines}\n\n{note}\n\n<details><summary>The differences</summary>\n\n{details}\n\n</details>",
        )
    ]


def quality_sections(rows: Sequence[MeasuredRow], plan: Plan) -> list[tuple[str, str]]:
    """BLEU beside the paper's, and all of BLEU and chrF."""
    found, signatures = {}, list[str]()
    for text in plan.texts(rows[0].row, plan.translated):
        scores, signed = quality_of(rows, text.name, text.references)
        if scores:
            found[text.name], signatures = scores, signed
    if not found:
        return []
    note = (
        f"In brackets the change against the sentence model, and the p-value of a paired bootstrap test, about "
        f"one-sided ({'; '.join(f'`{one}`' for one in signatures)}). The paper's BLEU is {MARUF}: whole test sets, "
        f"tokenised, of models trained on these domains; ours never saw any, so only directions compare."
    )
    return [
        ("Table 2: offline", f"{paper_bleu_table(OFFLINE, found)}\n\n{note}"),
        ("Table 3: online", paper_bleu_table(ONLINE, found)),
        ("BLEU and chrF of everything", chrf_table(found)),
    ]


def write_page(folder: Path, text: str, rows: Sequence[MeasuredRow]) -> None:
    """README.md, with what `tried.md` beside it says. Raises CompareError rather than overwrite one of another kind."""
    page = folder / PAGE
    if page.is_file() and not page.read_text(encoding="utf-8").startswith(MARK):
        raise CompareError(f"{page} was not written by `ringmt compare-documents`: choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    config = rows[0].row.recipe.model
    tokens = max(measured.row.target_tokens for measured in rows) / 1e6
    introduction = (
        f"Context layers of {MARUF}, on a small sentence model (d={config.d_model}, {config.encoder_layers}+"
        f"{config.decoder_layers} layers) that was trained for minutes, as were they, on {tokens:.1f} million target "
        f"tokens at most: enough to compare them under equal conditions, far from enough to translate well or to "
        f"repeat the paper's figures."
    )
    tried = [(folder / TRIED).read_text(encoding="utf-8").rstrip()] if (folder / TRIED).is_file() else []
    again = (
        "## Train one again\n\n```sh\nringmt train --recipe documents/encoder-sparse-soft --data DATA --out RUN\n```"
    )
    parts = [MARK, "# Context layers, side by side", introduction, text, *tried, again]
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
