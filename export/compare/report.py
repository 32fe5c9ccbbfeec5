"""The whole comparison as one Markdown text."""

from collections.abc import Sequence
from dataclasses import dataclass

from export.compare.claims import HOLDS, TIE, Claim, asked, ngram_claims, ngram_groups, short
from export.compare.contenders import contrast, families, seed_deviation
from export.compare.decode import BATCH
from export.compare.measurements import Measured, Plan
from export.compare.paper_tables import PAPER_TABLES
from export.compare.quality import Quality, qualities
from export.compare.table import (
    claim_text,
    difference_text,
    has_rows,
    language_table,
    likelihood_table,
    order_table,
    overview,
    paper_table,
    quality_table,
)
from model.training.bundled import all_rows

LIKELIHOOD_NOTE = (
    "Nats per target token, EOS included, ± standard error over sentences; the mean counts every set the same. Pairs "
    "that training would leave out as too long are left out. Rows see the same sentences, so differences between rows "
    "are known better than the rows themselves."
)
LANGUAGE_NOTE = (
    "exp of the log-perplexity per piece, target side only, ± standard error over sentences. Language models do not "
    "translate: they have no BLEU, and are not exported or served."
)


@dataclass(frozen=True)
class Found:
    """The measured rows, and what was concluded from them."""

    rows: Sequence[Measured]
    plan: Plan
    reference: str

    @property
    def translating(self) -> list[Measured]:
        return [measured for measured in self.rows if not measured.row.is_language_model]

    @property
    def language_models(self) -> list[Measured]:
        return [measured for measured in self.rows if measured.row.is_language_model]


Section = tuple[str, str]
"""Title and text."""


def report(rows: Sequence[Measured], plan: Plan, reference: str) -> str:
    """Sections that have something to say."""
    found = Found(rows, plan, reference)
    papers = paper_sections(found)
    claims = [claim for _, _, asked_of in papers for claim in asked_of]
    sections = [
        *overview_section(found),
        *findings_section(found, claims),
        *((title, text) for title, text, _ in papers),
        *language_section(found),
        *detail_sections(found),
        *missing_section(found),
    ]
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in sections)


def overview_section(found: Found) -> list[Section]:
    rows, plan = found.translating, found.plan
    if not rows:
        return []
    together, note = pooled_quality(found)
    speed = (
        f"Cache: the ring of one hypothesis in fp32, as the server allots it (full attention: the model's greatest "
        f"length). Tokens/s: the engine at fp32, beam {plan.beam}, batch {BATCH}, 24 pieces, one worker, random "
        f"weights; the rows in turn, medians of {plan.rounds} rounds."
    )
    notes = [*([note] if note else []), speed if plan.rounds else "Tokens/s were not measured."]
    if plan.sets:
        notes.insert(0, f"Log-perplexity: the mean over {', '.join(plan.sets)}. {LIKELIHOOD_NOTE}")
    return [("Models", "\n\n".join([overview(rows, together, found.reference), *notes]))]


def pooled_quality(found: Found) -> tuple[dict[str, dict[str, Quality]], str]:
    """Of the sentences of all sets together, for rows that translated all of them."""
    names = found.plan.translated
    systems = {
        measured.row.name: [text for name in names for text in measured.translations[name]]
        for measured in found.translating
        if names and all(name in measured.translations for name in names)
    }
    if not systems:
        return {}, ""
    texts = found.plan.to_translate(found.translating[0].row)
    references = [reference for text in texts for reference in text.references]
    scores, signatures = qualities(systems, references, found.reference)
    return (
        scores,
        f"BLEU and chrF: {', '.join(names)} together, {quality_note(len(references), found.plan, signatures)}",
    )


def quality_note(sentences: int, plan: Plan, signatures: Sequence[str]) -> str:
    return (
        f"{sentences:,} sentences, beam {plan.beam}; ± half of the 95% bootstrap interval; p of sacreBLEU's paired "
        f"bootstrap test, about one-sided ({'; '.join(f'`{s}`' for s in signatures)})."
    )


def paper_sections(found: Found) -> list[tuple[str, str, list[Claim]]]:
    """Title, text and claims of everything that a paper says of several of the rows."""
    sections = []
    deviation = seed_deviation(found.translating)
    for group in ngram_groups(found.rows):
        claims = ngram_claims(group, deviation)
        texts = [*([order_table(group)] if group.is_plain else []), *map(claim_text, claims)]
        sections.append((f"Chelba et al. 2019: N, {group.name}", "\n\n".join(texts), claims))
    for family in families(found.rows):
        for paper in PAPER_TABLES:
            if has_rows(paper, family):
                is_language = paper.base.startswith("language/")
                source = f"{paper.source.partition(',')[0]}, {paper.title.partition(':')[0]}"
                claims = [asked(claim, source, family, None if is_language else deviation) for claim in paper.claims]
                text = "\n\n".join([paper_table(paper, family), *map(claim_text, claims)])
                sections.append((f"{paper.source.partition(',')[0]}: {paper.title}", text, claims))
    return sections


def findings_section(found: Found, claims: Sequence[Claim]) -> list[Section]:
    if not claims:
        return []
    lines = [f"- {claim.text}: **{claim.verdict}** ({claim.source})" for claim in claims]
    text = "\n\n".join([*orders_in_words(found), "\n".join(lines), verdict_note(found)])
    return [("Claims of the papers, asked of these rows", text)]


def orders_in_words(found: Found) -> list[str]:
    """What the rows of different N say, where N=2 is the worst of them."""
    deviation = seed_deviation(found.translating)
    sentences = []
    for group in ngram_groups(found.rows):
        claims = {claim.text: claim.verdict for claim in ngram_claims(group, deviation)}
        if not group.is_plain or len(group.orders) < 4 or claims.get("N=2 is the worst") != HOLDS:
            continue
        two, *others, full = group.orders
        read = f"At {group.target_tokens / 1e6:.1f} M target tokens, "
        if claims["log-perplexity falls as N grows"] == HOLDS or full.order is not None:
            sentences.append(f"{read}N=2 is clearly the worst, and log-perplexity falls as N grows, as in the paper.")
            continue
        best = min(others, key=lambda order: order.log_perplexity.value)
        sentences.append(
            f"{read}N=2 is clearly the worst: {difference_text(contrast([two], [full]))} nats per token against full "
            f"attention. Above N=2 the paper's order does not appear at this budget: the best is {best.name}, at "
            f"{difference_text(contrast([best], [full]))} against full attention. These models stopped long before "
            f"they converged; a short memory may only be learned sooner."
        )
    return sentences


def verdict_note(found: Found) -> str:
    deviation = seed_deviation(found.translating)
    seeds = (
        "No variant has a second seed yet, so how other seeds would have turned out is not in the verdicts."
        if deviation is None
        else f"Log-perplexity differs by {deviation:.3f} (standard deviation) from seed to seed, pooled over the "
        f"variants with several; this is added to the errors of translation models. Seeds of a variant are averaged."
    )
    return (
        f"Claims are about log-perplexity, by paired differences, sentence by sentence, ± standard error over "
        f"sentences. A difference is resolved beyond 1.96 standard errors; rows count as equal within {TIE} nats. "
        f"{seeds} The papers' own differences, mostly 0.1 to 0.5 BLEU, are too small for BLEU on these sets to resolve."
    )


def language_section(found: Found) -> list[Section]:
    if not found.language_models:
        return []
    return [("Language models", f"{language_table(found.language_models)}\n\n{LANGUAGE_NOTE}")]


def detail_sections(found: Found) -> list[Section]:
    """The sets one by one."""
    sections = []
    rows, plan = found.translating, found.plan
    if len(plan.sets) > 1 or not rows:
        sections.append(("Log-perplexity, set by set", likelihood_table(found.rows, plan.sets)))
    if len(plan.translated) > 1 and rows:
        for text in plan.to_translate(rows[0].row):
            systems = {m.row.name: m.translations[text.name] for m in rows if text.name in m.translations}
            if systems:
                scores, signatures = qualities(systems, text.references, found.reference)
                note = quality_note(len(text.references), plan, signatures)
                sections.append(
                    (f"BLEU and chrF, {text.name}", f"{quality_table(rows, scores, found.reference)}\n\n{note}")
                )
    return sections


def missing_section(found: Found) -> list[Section]:
    """Bundled rows without a checkpoint, where there is any with one."""
    trained = {measured.row.bundled for measured in found.rows}
    rows = all_rows()
    missing = [row for row in rows if row not in trained]
    if not missing or len(missing) == len(rows):
        return []
    return [("Not trained", f"{', '.join(map(short, missing))}: recipes are there, checkpoints are not.")]
