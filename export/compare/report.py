"""The report of a comparison: what is left of the papers' claims, and all tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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
from export.compare.contenders import LOG_PERPLEXITY, WRONG_ITEMS, Family, families
from export.compare.context_table import context_summary, contrastive_table, zero_table
from export.compare.measurements import Measured, MeasurementPlan
from export.compare.papers import INFERIOR, ITEM_TABLES, OWN, PAPER_TABLES, UNTRIED, PaperTable
from export.compare.quality import qualities
from export.compare.rows import known_rows
from export.compare.summaries import context, localness, soft_windows, windows
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
    verdict_table,
)
from export.compare.translate import LONGEST

PLUS_MINUS = (
    "± is half of a 95% interval wherever it stands on this page: of what a row costs, over documents (over sentences "
    "in sets without documents); of differences between rows, over documents and seeds; of BLEU and chrF, over "
    "bootstraps."
)
LIKELIHOOD_NOTE = (
    "Nats per target token, EOS included; the mean counts every set the same. Pairs that training would leave out as "
    "too long are left out. Rows see the same text, so differences between rows are known better than the rows "
    "themselves."
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
        """Every table of which several rows were trained, family by family, with its claims; items that context decides
        come first."""
        return [
            (family, paper, [claim_of(claim, paper, family) for claim in paper.claims])
            for tables, found in ((ITEM_TABLES, self.item_families), (PAPER_TABLES, self.families))
            for family in found
            for paper in tables
            if has_rows(paper, family.members)
        ]

    @cached_property
    def every_claim(self) -> list[Claim]:
        """Paper by paper."""
        claims = [claim for group in self.orders for claim in ngram_claims(group)]
        claims += [claim for _, _, found in self.papers for claim in found]
        papers = list(dict.fromkeys(claim.paper for claim in claims))
        return sorted(claims, key=lambda claim: papers.index(claim.paper))

    @cached_property
    def claims(self) -> list[Claim]:
        """Those of papers of which something was measured."""
        return [claim for claim in self.every_claim if claim.paper is not None and claim.tried]

    @cached_property
    def hypotheses(self) -> list[Claim]:
        """Own ones of which something was measured."""
        return [claim for claim in self.every_claim if claim.paper is None and claim.tried]

    @cached_property
    def sentences(self) -> list[str]:
        """One a paper."""
        item_claims = [claim for claim in self.claims if claim.yardstick is WRONG_ITEMS]
        found = (windows(self.orders), localness(self.families), soft_windows(self.families), context(item_claims))
        return [sentence for sentence in found if sentence]

    @cached_property
    def untried(self) -> list[str]:
        """What papers have and nobody trained here: a sentence a paper, of papers that any row is about."""
        here = {claim.paper for claim in self.claims}
        lines = []
        for paper, more in UNTRIED.items():
            author = paper.partition(",")[0]
            if author not in here:
                continue
            tables = [table for table in PAPER_TABLES if table.author == author and not self.is_tried(table)]
            titles = dict.fromkeys(table.title for table in tables)
            lines.append(f"- {author}: {'; '.join([*titles, *more])}.")
        return lines

    def is_tried(self, table: PaperTable) -> bool:
        """Whether any difference of this table's claims was measured, at any budget."""
        same = [found for _, paper, found in self.papers if (paper.source, paper.title) == (table.source, table.title)]
        return any(claim.tried for claims in same for claim in claims)

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
            f"{sentences:,} sentences, beam {self.plan.beam} (greedy in context), at most {LONGEST} tokens; p of "
            f"sacreBLEU's paired bootstrap test, about one-sided ({'; '.join(f'`{s}`' for s in signatures)})."
        )


def short_sections(found: Found) -> list[Section]:
    """What the papers claim and what was found of it, first of all; then one table of rows."""
    sections = []
    if found.claims:
        parts = ["\n".join(f"- {sentence}" for sentence in found.sentences), verdict_table(found.claims)]
        sections.append(("What the papers claim, and what these rows say", text_of(*parts, verdict_note(found))))
    if found.untried:
        sections.append(("Not tried", "\n".join(found.untried)))
    if found.hypotheses:
        text = "No paper states these; they are tried as the claims above."
        sections.append((OWN, text_of(text, verdict_table(found.hypotheses, "of"))))
    scores, note = found.together
    if any(measured.row.section is None for measured in found.rows):
        notes = [f"Log-perplexity: the mean over {', '.join(found.plan.sets)}.", note]
        text = "\n\n".join([summary(found.families, found.rows, scores, found.reference), " ".join(notes).strip()])
        sections.append(("The rows", f"{text} Cache: the ring of one hypothesis in fp32."))
    if found.in_context:
        text = (
            f"Log-perplexity: the mean over {', '.join(found.plan.sets)}. online: a sentence sees those before it; "
            f"offline: all others of its document; shuffled: those of another document, the control. Differences are "
            f"of one seed, over documents."
        )
        sections.append(("The rows", f"{context_summary(found.in_context)}\n\n{text}"))
    return sections


def text_of(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def verdict_note(found: Found) -> str:
    seeds = "".join(map(seeds_note, (found.families, found.item_families)))
    about = " and ".join([LOG_PERPLEXITY.name, *([WRONG_ITEMS.name] if found.item_families else [])])
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
    """By how much seeds of one variant differ, budget by budget; all families have one yardstick."""
    spreads = [
        f"{family.spread.deviation:.3f} {family.yardstick.unit.partition(' per ')[0]} ({family.spread.freedom} degrees "
        f"of freedom, {family.read} target tokens)"
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
        author = CHELBA_AUTHOR if group.is_plain else OWN
        sections.append((f"{author}: N, {group.name}", "\n\n".join(parts)))
    for family, paper, claims in found.papers:
        title = f"{paper.author}: {paper.title}, {family.read} target tokens"
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
