"""The report of a comparison: a short answer, and all tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from export.compare.claims import MISSING, TIE, Claim, OrderGroup, asked, ngram_claims, ngram_groups
from export.compare.contenders import LOG_PERPLEXITY, WRONG_ITEMS, Family, families
from export.compare.context_table import context_summary, contrastive_table, zero_table
from export.compare.maruf_tables import MARUF_ITEMS
from export.compare.measurements import Measured, MeasurementPlan
from export.compare.paper_tables import PAPER_TABLES
from export.compare.papers import PaperTable
from export.compare.quality import qualities
from export.compare.rows import known_rows
from export.compare.table import (
    Qualities,
    claim_table,
    has_rows,
    language_table,
    likelihood_table,
    order_table,
    overview,
    paper_table,
    precision_table,
    quality_table,
    summary,
    system_name,
    verdicts,
)
from export.compare.translate import LONGEST

LIKELIHOOD_NOTE = (
    "Nats per target token, EOS included, ± standard error over documents (over sentences in sets without documents); "
    "the mean counts every set the same. Pairs that training would leave out as too long are left out. Rows see the "
    "same text, so differences between rows are known better than the rows themselves."
)
LANGUAGE_NOTE = (
    "exp of the log-perplexity per piece, target side only. Language models do not translate: they have no BLEU, and "
    "are not exported or served."
)
PRECISION_NOTE = (
    "The row's own graphs in the server's engine at fp32 and int8, calibrated by the sentences that come with `ringmt "
    "export`; the text of all sets together. Nats per token of the references, BLEU of what a beam search finds. Only "
    "rows whose weights are kept."
)
ZERO_NOTE = (
    "Of the weights that one word of a sentence gives to visible sentences, and to the words in them, the share that "
    "is exactly zero; the share of visible sentences that any head of any word of a sentence uses (the rest can be "
    "left out without changing anything); and the mean of 1 - gate, how much of the layer's output gets through."
)
CONTRASTIVE_NOTE = (
    "Accuracy with 95% intervals (Wilson). Items that context gains and loses against the same row without it, and the "
    "two-sided exact p-value of that split (McNemar)."
)
Section = tuple[str, str]
"""Title and text."""


@dataclass(frozen=True)
class Found:
    """The measured rows, and what was concluded from them."""

    rows: Sequence[Measured]
    plan: MeasurementPlan
    reference: str

    @property
    def translating(self) -> list[Measured]:
        return [measured for measured in self.rows if not measured.row.is_language_model]

    @property
    def language_models(self) -> list[Measured]:
        return [measured for measured in self.rows if measured.row.is_language_model]

    @property
    def in_context(self) -> list[Measured]:
        return [measured for measured in self.rows if measured.row.section is not None]

    @cached_property
    def families(self) -> list[Family]:
        return families(self.rows)

    @cached_property
    def orders(self) -> list[OrderGroup]:
        return ngram_groups(self.rows)

    @cached_property
    def item_families(self) -> list[Family]:
        return families(self.in_context, WRONG_ITEMS)

    @cached_property
    def papers(self) -> list[tuple[Family, PaperTable, list[Claim]]]:
        """Every paper's table of which several rows were trained, family by family, with its claims."""
        return [
            (family, paper, [asked(claim, source(paper), family) for claim in paper.claims])
            for tables, found in ((PAPER_TABLES, self.families), ((MARUF_ITEMS,), self.item_families))
            for family in found
            for paper in tables
            if has_rows(paper, family.members)
        ]

    @cached_property
    def claims(self) -> list[Claim]:
        """Those of tables of which anything was measured."""
        tables = [ngram_claims(group) for group in self.orders] + [claims for _, _, claims in self.papers]
        return [claim for claims in tables if any(one.verdict != MISSING for one in claims) for claim in claims]

    @cached_property
    def together(self) -> tuple[Qualities, str]:
        """BLEU and chrF of the text of all sets together, for systems that translated all of them; and a note."""
        names = self.plan.translated
        systems = {
            system_name(measured, condition): [line for name in names for line in found[name]]
            for measured in self.translating
            for condition, found in measured.translations.items()
            if names and all(name in found for name in names)
        }
        if not systems:
            return {}, ""
        texts = self.plan.to_translate(self.translating[0].row)
        references = [reference for text in texts for reference in text.references]
        scores, signatures = qualities(systems, references, self.reference)
        return scores, f"BLEU and chrF: {', '.join(names)} together, {self.quality_note(len(references), signatures)}"

    def quality_note(self, sentences: int, signatures: Sequence[str]) -> str:
        return (
            f"{sentences:,} sentences, beam {self.plan.beam} (greedy in context), at most {LONGEST} tokens; ± half of "
            f"the 95% bootstrap interval; p of sacreBLEU's paired bootstrap test, about one-sided "
            f"({'; '.join(f'`{s}`' for s in signatures)})."
        )


def source(paper: PaperTable) -> str:
    return f"{paper.source.partition(',')[0]}, {paper.title.partition(':')[0]}"


def short_sections(found: Found) -> list[Section]:
    """One table of rows, and a sentence for every claim."""
    sections = []
    scores, note = found.together
    if any(measured.row.section is None for measured in found.rows):
        notes = [f"Log-perplexity: the mean over {', '.join(found.plan.sets)}; ± is half of a 95% interval.", note]
        text = "\n\n".join([summary(found.families, found.rows, scores, found.reference), " ".join(notes).strip()])
        sections.append(("The rows", f"{text} Cache: the ring of one hypothesis in fp32."))
    if found.in_context:
        text = (
            f"Log-perplexity: the mean over {', '.join(found.plan.sets)}. online: a sentence sees those before it; "
            f"offline: all others of its document; shuffled: those of another document, the control. ± is half of a "
            f"95% interval over documents, with one seed."
        )
        sections.append(("The rows", f"{context_summary(found.in_context)}\n\n{text}"))
    if found.claims:
        text = f"{verdicts(found.claims)}\n\n{verdict_note(found)}"
        sections.append(("What the papers claim, and what these rows say", text))
    return sections


def verdict_note(found: Found) -> str:
    seeds = "".join(map(seeds_note, (found.families, found.item_families)))
    about = " and ".join([LOG_PERPLEXITY.name, *([WRONG_ITEMS.name] if found.item_families else [])])
    return (
        f"Claims are about {about}, by paired differences between rows of one budget: the same text, steps and "
        f"rates. A verdict needs two seeds on both sides; its 95% interval has the error over text and that over "
        f"seeds, each by Student's t at its degrees of freedom (4.3 for two). {seeds}Rows count "
        f"as equal within {TIE} nats and within half of an effect that is itself resolved. With so many claims one in "
        f"twenty would be resolved by chance."
    )


def seeds_note(families: Sequence[Family]) -> str:
    """By how much seeds of one variant differ, budget by budget; all families have one yardstick."""
    spreads = [
        f"{family.spread.deviation:.3f} {family.yardstick.unit.partition(' per ')[0]} ({family.spread.freedom} degrees "
        f"of freedom, {family.target_tokens / 1e6:.1f} M target tokens)"
        for family in families
        if family.spread
    ]
    return f"From seed to seed {families[0].yardstick.name} differs by {'; '.join(spreads)}. " if spreads else ""


def full_sections(found: Found) -> list[Section]:
    """Every table."""
    rows, plan = found.rows, found.plan
    sections = []
    if found.translating:
        scores, note = found.together
        alone = [measured for measured in found.translating if measured.row.section is None]
        if alone:
            sections.append(("Rows, seed by seed", f"{overview(alone, scores, found.reference)}\n\n{note}"))
    for group in found.orders:
        parts = [*([order_table(group)] if group.is_plain else []), *map(claim_table, ngram_claims(group))]
        sections.append((f"Chelba et al. 2019: N, {group.name}", "\n\n".join(parts)))
    for family, paper, claims in found.papers:
        title = f"{paper.source.partition(',')[0]}: {paper.title}, {family.target_tokens / 1e6:.1f} M target tokens"
        sections.append((title, "\n\n".join([paper_table(paper, family), *map(claim_table, claims)])))
    if found.language_models:
        sections.append(("Language models", f"{language_table(found.language_models)}\n\n{LANGUAGE_NOTE}"))
    sections.append(("Log-perplexity, set by set", f"{likelihood_table(rows, plan.sets)}\n\n{LIKELIHOOD_NOTE}"))
    at_int8 = [measured for measured in rows if measured.precisions]
    if at_int8:
        sections.append(("What int8 costs", f"{precision_table(at_int8)}\n\n{PRECISION_NOTE}"))
    return [*sections, *quality_sections(found), *context_sections(found)]


def quality_sections(found: Found) -> list[Section]:
    """Set by set."""
    sections = []
    for place, name in enumerate(found.plan.translated):
        systems, lines = {}, {}
        for measured in found.translating:
            for condition in measured.row.conditions:
                if name in measured.translations.get(condition, {}):
                    systems[system_name(measured, condition)] = measured
                    lines[system_name(measured, condition)] = measured.translations[condition][name]
        if lines:
            references = found.plan.to_translate(found.translating[0].row)[place].references
            scores, signatures = qualities(lines, references, found.reference)
            note = found.quality_note(len(references), signatures)
            sections.append((f"BLEU and chrF, {name}", f"{quality_table(systems, scores, found.reference)}\n\n{note}"))
    return sections


def context_sections(found: Found) -> list[Section]:
    if not found.in_context:
        return []
    sections = [("Exact zeros", f"{zero_table(found.in_context)}\n\n{ZERO_NOTE}")]
    for name in found.plan.contrastive:
        if any(name in measured.right for measured in found.in_context):
            text = contrastive_table(found.in_context, found.plan.read_items(name), name)
            sections.append((f"Contrastive set {name}", f"{text}\n\n{CONTRASTIVE_NOTE}"))
    return sections


def not_trained(found: Found) -> list[str]:
    """Rows of the bundled recipes of these rows that are not among them."""
    trained = {measured.row.bundled for measured in found.rows}
    recipes = {name.partition("/")[0] for name in trained if name}
    return [row for row in known_rows() if row.partition("/")[0] in recipes and row not in trained]


def markdown(sections: Sequence[Section]) -> str:
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in sections)
