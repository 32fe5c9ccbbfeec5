"""The report of a comparison: verdicts on the papers' claims, and all tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from export.compare import tables
from export.compare.claims import (
    AGAINST,
    CHELBA_AUTHOR,
    HOLDS,
    NOISE,
    NOT_COMPARABLE,
    NOT_TRIED,
    TIE,
    Claim,
    OrderGroup,
    claim_of,
    ngram_claims,
    ngram_groups,
)
from export.compare.context_table import context_summary, contrastive_table, zero_table
from export.compare.measurements import Measured, MeasurementPlan
from export.compare.papers import INFERIOR, ITEM_TABLES, NOTES, OWN, PAPER_TABLES, UNTRIED, PaperTable
from export.compare.quality import qualities
from export.compare.rows import known_rows
from export.compare.summaries import context, localness, soft_windows, windows
from export.compare.translate import LONGEST
from export.compare.variants import LOG_PERPLEXITY, WRONG_ITEMS, Family, families

Section = tuple[str, str]
"""Title and text."""


@dataclass(frozen=True)
class Comparison:
    """The measured rows, with their claims and verdicts."""

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
        """Every table of which several rows were trained, family by family, with its claims; items that context decides
        come first."""
        return [
            (family, paper, [claim_of(claim, paper, family) for claim in paper.claims])
            for group, item in ((ITEM_TABLES, self.item_families), (PAPER_TABLES, self.families))
            for family in item
            for paper in group
            if tables.has_rows(paper, family.members)
        ]

    @cached_property
    def every_claim(self) -> list[Claim]:
        """Paper by paper."""
        claims = [claim for group in self.orders for claim in ngram_claims(group)]
        claims += [claim for _, _, item in self.papers for claim in item]
        papers = list(dict.fromkeys(claim.paper for claim in claims))
        return sorted(claims, key=lambda claim: papers.index(claim.paper))

    @cached_property
    def claims(self) -> list[Claim]:
        """The papers' claims with measured differences."""
        return [claim for claim in self.every_claim if claim.paper is not None and claim.tried]

    @cached_property
    def hypotheses(self) -> list[Claim]:
        """Own hypotheses with measured differences."""
        return [claim for claim in self.every_claim if claim.paper is None and claim.tried]

    @cached_property
    def sentences(self) -> list[str]:
        """One a paper."""
        item_claims = [claim for claim in self.claims if claim.metric is WRONG_ITEMS]
        result = (windows(self.orders), localness(self.families), soft_windows(self.families), context(item_claims))
        return [sentence for sentence in result if sentence]

    @cached_property
    def untried(self) -> list[str]:
        """Parts of the papers that no row tests: a line per paper with claims."""
        here = {claim.paper for claim in self.claims}
        lines = []
        for paper, more in UNTRIED.items():
            author = paper.partition(",")[0]
            if author not in here:
                continue
            untried = [table for table in PAPER_TABLES if table.author == author and not self.is_tried(table)]
            titles = dict.fromkeys(table.title for table in untried)
            lines.append(f"- {author}: {'; '.join([*titles, *more])}.")
        return lines

    def is_tried(self, table: PaperTable) -> bool:
        """Whether any difference of this table's claims was measured, at any budget."""
        same = [item for _, paper, item in self.papers if (paper.source, paper.title) == (table.source, table.title)]
        return any(claim.tried for claims in same for claim in claims)

    @cached_property
    def together(self) -> tuple[tables.Qualities, str]:
        """BLEU and chrF of the text of all sets together, for systems that translated all of them; and a note."""
        names = self.plan.translated
        systems = {
            tables.system_name(measured, condition): [line for name in names for line in item[name]]
            for measured in self.translating
            for condition, item in measured.translations.items()
            if names and all(name in item for name in names)
        }
        if not systems:
            return {}, ""
        texts = self.plan.to_translate(self.translating[0].row)
        references = [reference for text in texts for reference in text.references]
        scores, signatures = qualities(systems, references, self.reference)
        return scores, f"BLEU and chrF: {', '.join(names)} together, {self.quality_note(len(references), signatures)}"

    def quality_note(self, sentences: int, signatures: Sequence[str]) -> str:
        return (
            f"{sentences:,} sentences, beam {self.plan.beam} (greedy in context), at most {LONGEST} tokens; p of "
            f"sacreBLEU's paired bootstrap test, about one-sided ({'; '.join(f'`{s}`' for s in signatures)})."
        )


def short_sections(comparison: Comparison) -> list[Section]:
    """The papers' claims with verdicts first; then one table of rows."""
    sections = []
    if comparison.claims:
        parts = [
            "\n".join(f"- {sentence}" for sentence in comparison.sentences),
            tables.verdict_table(comparison.claims),
        ]
        sections.append(("What the papers claim, and what these rows say", text_of(*parts, verdict_note(comparison))))
    if comparison.untried:
        sections.append(("Not tried", "\n".join(comparison.untried)))
    if comparison.hypotheses:
        text = "No paper states these; they are tried as the claims above."
        sections.append((OWN, text_of(text, tables.verdict_table(comparison.hypotheses, "of"))))
    scores, note = comparison.together
    if any(measured.row.section is None for measured in comparison.rows):
        notes = [f"Log-perplexity: the mean over {', '.join(comparison.plan.sets)}.", note]
        text = "\n\n".join(
            [
                tables.summary(comparison.families, comparison.rows, scores, comparison.reference),
                " ".join(notes).strip(),
            ]
        )
        sections.append(("The rows", f"{text} Cache: the ring of one hypothesis in fp32."))
    if comparison.in_context:
        text = (
            f"Log-perplexity: the mean over {', '.join(comparison.plan.sets)}. online: a sentence sees "
            f"those before it; offline: all others of its document; shuffled: those of another document, the control. "
            f"Differences are of one seed, over documents."
        )
        sections.append(("The rows", f"{context_summary(comparison.in_context)}\n\n{text}"))
    return sections


def text_of(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def verdict_note(comparison: Comparison) -> str:
    seeds = "".join(map(seeds_note, (comparison.families, comparison.item_families)))
    about = " and ".join([LOG_PERPLEXITY.name, *([WRONG_ITEMS.name] if comparison.item_families else [])])
    return (
        f"Claims are tested in {about}, by paired differences between rows of one budget: the same text, order, steps "
        f"and rates (rows that see other context may read other amounts of it, which stand beside them). Each "
        f"difference has the error over text and that over seeds, each by Student's t at its degrees of freedom, and "
        f"needs two seeds on both sides. p-values are corrected for the number of differences in a claim (Holm), so "
        f"that a claim of true ties is contradicted in at most 5 of 100 comparisons. **{HOLDS}**: every difference is "
        f"resolved, as claimed; **{AGAINST}**: one is resolved against it; **{NOISE}**: one is not resolved; "
        f"**{NOT_COMPARABLE}**: these rows or sets cannot show it; **{NOT_TRIED}**: the rest holds, and a row is "
        f'missing. "Worse by at most {INFERIOR} nats" is one-sided: the end of the interval decides. {seeds}Rows count '
        f"as equal within {TIE} nats and within half of an effect that is itself resolved."
    )


def seeds_note(families: Sequence[Family]) -> str:
    """The spread between seeds of one variant, for each budget; all families share one metric."""
    spreads = [
        f"{family.spread.deviation:.3f} {family.metric.unit.partition(' per ')[0]} ({family.spread.freedom} degrees "
        f"of freedom, {family.token_range} target tokens)"
        for family in families
        if family.spread
    ]
    return f"From seed to seed {families[0].metric.name} differs by {'; '.join(spreads)}. " if spreads else ""


def full_sections(comparison: Comparison) -> list[Section]:
    """Every table."""
    rows, plan = comparison.rows, comparison.plan
    sections = []
    if comparison.translating:
        scores, note = comparison.together
        alone = [measured for measured in comparison.translating if measured.row.section is None]
        if alone:
            sections.append(("Rows, seed by seed", f"{tables.overview(alone, scores, comparison.reference)}\n\n{note}"))
    for group in comparison.orders:
        parts = [
            *([tables.order_table(group)] if group.is_plain else []),
            *map(tables.claim_table, ngram_claims(group)),
        ]
        author = CHELBA_AUTHOR if group.is_plain else OWN
        sections.append((f"{author}: N, {group.name}", "\n\n".join(parts)))
    for family, paper, claims in comparison.papers:
        title = f"{paper.author}: {paper.title}, {family.token_range} target tokens"
        sections.append((title, "\n\n".join([tables.paper_table(paper, family), *map(tables.claim_table, claims)])))
    if comparison.language_models:
        sections.append(
            ("Language models", f"{tables.language_table(comparison.language_models)}\n\n{NOTES['language']}")
        )
    sections.append(
        ("Log-perplexity, set by set", f"{tables.likelihood_table(rows, plan.sets)}\n\n{NOTES['likelihood']}")
    )
    at_int8 = [measured for measured in rows if measured.precisions]
    if at_int8:
        sections.append(("What int8 costs", f"{tables.precision_table(at_int8)}\n\n{NOTES['precision']}"))
    return [*sections, *quality_sections(comparison), *context_sections(comparison)]


def quality_sections(comparison: Comparison) -> list[Section]:
    """Set by set."""
    sections = []
    for place, name in enumerate(comparison.plan.translated):
        systems, lines = {}, {}
        for measured in comparison.translating:
            for condition in measured.row.conditions:
                if name in measured.translations.get(condition, {}):
                    systems[tables.system_name(measured, condition)] = measured
                    lines[tables.system_name(measured, condition)] = measured.translations[condition][name]
        if lines:
            references = comparison.plan.to_translate(comparison.translating[0].row)[place].references
            scores, signatures = qualities(lines, references, comparison.reference)
            note = comparison.quality_note(len(references), signatures)
            sections.append(
                (f"BLEU and chrF, {name}", f"{tables.quality_table(systems, scores, comparison.reference)}\n\n{note}")
            )
    return sections


def context_sections(comparison: Comparison) -> list[Section]:
    if not comparison.in_context:
        return []
    sections = [("Exact zeros", f"{zero_table(comparison.in_context)}\n\n{NOTES['zero']}")]
    for name in comparison.plan.contrastive:
        if any(name in measured.right for measured in comparison.in_context):
            text = contrastive_table(comparison.in_context, comparison.plan.read_items(name), name)
            sections.append((f"Contrastive set {name}", f"{text}\n\n{NOTES['contrastive']}"))
    return sections


def not_trained(comparison: Comparison) -> list[str]:
    """Rows of the bundled recipes of these rows that are not among them."""
    trained = {measured.row.bundled for measured in comparison.rows}
    recipes = {name.partition("/")[0] for name in trained if name}
    return [row for row in known_rows() if row.partition("/")[0] in recipes and row not in trained]


def markdown(sections: Sequence[Section]) -> str:
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in sections)
