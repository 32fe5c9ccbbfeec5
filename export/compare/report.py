"""The whole comparison as one Markdown text."""

from collections.abc import Sequence

from export.compare.claims import ngram_claims, ngram_groups
from export.compare.decode import BATCH
from export.compare.measurements import Measured, Plan
from export.compare.quality import qualities
from export.compare.table import (
    claim_text,
    likelihood_table,
    paper_table,
    quality_table,
    size_table,
)

LIKELIHOOD_NOTE = (
    "Nats per target token, EOS included, ± standard error over sentences; the mean counts every set the same. Pairs "
    "that training would leave out as too long are left out. Rows see the same sentences, so differences between rows "
    "are known better than the rows themselves: see the claims."
)


CLAIM_NOTE = (
    "Paired differences, sentence by sentence, ± standard error over sentences; resolved beyond 1.96 of them. They are "
    "about these checkpoints: how other seeds would have turned out is not in them. Rows that differ in their seed "
    "alone are averaged."
)


def report(rows: Sequence[Measured], plan: Plan, reference: str) -> str:
    """Sections that have something to say."""
    sections = [("Models", f"{size_table(rows)}\n\n{speed_note(plan)}")]
    if plan.sets:
        sections.append(("Log-perplexity", f"{likelihood_table(rows, plan.sets)}\n\n{LIKELIHOOD_NOTE}"))
    sections += [(f"BLEU and chrF, {name}", quality_text(rows, plan, name, reference)) for name in plan.translated]
    for group in ngram_groups(rows):
        sections.append(("N-gram claims", "\n\n".join([*map(claim_text, ngram_claims(group)), CLAIM_NOTE])))
        sections.append(("Beside the paper", paper_table(group)))
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in sections)


def speed_note(plan: Plan) -> str:
    return (
        f"Cache: the ring of one hypothesis in fp32, as the server allots it (full attention: the model's greatest "
        f"length). Speed: the engine at fp32, beam {plan.beam}, batch {BATCH}, 24 pieces, one worker, random weights; "
        f"the rows in turn, medians of {plan.rounds} rounds."
    )


def quality_text(rows: Sequence[Measured], plan: Plan, name: str, reference: str) -> str:
    """Raises CorpusError for a set that is not there."""
    systems = {measured.row.name: measured.translations[name] for measured in rows if name in measured.translations}
    if not systems:
        return "Not measured."
    text = plan.read(name, rows[0].row)
    found, signatures = qualities(systems, text.references, reference)
    note = (
        f"{len(text.references):,} sentences, beam {plan.beam}; ± half of the 95% bootstrap interval; p of sacreBLEU's "
        f"paired bootstrap test, about one-sided."
    )
    return "\n\n".join([quality_table(rows, found, reference), note, "  \n".join(f"`{s}`" for s in signatures)])
