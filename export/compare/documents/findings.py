"""The paper's claims, asked of our rows: every answer rests on paired differences, document by document."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from export.compare.claims import Claim, Step
from export.compare.documents.measurements import ALONE, CONTEXTS, OFFLINE, ONLINE, MeasuredRow
from export.compare.documents.paper import BLEU_ROWS
from export.compare.likelihood import Estimate, mean_estimate, per_token
from export.compare.measurements import SentenceCosts

Costs = Mapping[str, SentenceCosts]
PAPER = tuple(row.row for row in BLEU_ROWS)
HIERARCHICAL, FLAT = ("sparse-soft", "sparse-sparse"), ("flat-sentence", "flat-word")
CONTROLS = {
    "encoder-sparse-soft": "encoder-sparse-soft-shuffled",
    "all-encoder-sparse-soft": "all-encoder-sparse-soft-shuffled",
}
NO_CONTEXT = "all-no-context"


def difference(worse: Sequence[Costs], better: Sequence[Costs]) -> Estimate | None:
    """Nats per token that `worse` costs more than `better`, each the mean of its members, document by document; the
    mean over the sets that all have. None where nothing was measured."""
    members = [*worse, *better]
    shared = [name for name in members[0] if all(name in member for member in members)] if members else []
    if not shared or not worse or not better:
        return None

    def mean(costs: Sequence[Costs], name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.mean([one[name].nll for one in costs], axis=0)  # type: ignore[no-any-return]

    return mean_estimate(
        [per_token(mean(worse, name) - mean(better, name), members[0][name].tokens) for name in shared]
    )


def found_claims(rows: Sequence[MeasuredRow]) -> list[Claim]:
    """Claims of which there are rows to ask."""
    known = {measured.row.name: measured for measured in rows}

    def costs(name: str, condition: str) -> list[Costs]:
        measured = known.get(name)
        return [measured.costs[condition]] if measured and condition in measured.costs else []

    def step(label: str, worse: list[Costs], better: list[Costs], is_tie: bool = False) -> Step:
        return Step(label, difference(worse, better), is_tie=is_tie)

    paper = [name for name in PAPER if name in known]
    claims = []
    for condition, table in ((OFFLINE, "Table 2"), (ONLINE, "Table 3")):
        steps = [step(f"{name}: alone - {condition}", costs(name, ALONE), costs(name, condition)) for name in paper]
        claims.append(Claim(f"every context layer beats its sentence model, {condition}", tuple(steps), table))
    closeness = [step(f"{name}: offline - online", costs(name, OFFLINE), costs(name, ONLINE), True) for name in paper]
    claims.append(Claim("offline and online are close", tuple(closeness), "Tables 2 and 3"))
    for side in ("encoder", "decoder"):
        for condition in CONTEXTS:
            flat = [one for kind in FLAT for one in costs(f"{side}-{kind}", condition)]
            sparse = [one for kind in HIERARCHICAL for one in costs(f"{side}-{kind}", condition)]
            if flat and sparse:
                text = f"hierarchical attention beats flat attention, {side}, {condition}"
                claims.append(Claim(text, (step("flat - hierarchical", flat, sparse),), "section 4.2"))
    for name, control in CONTROLS.items():
        if name in known and control in known:
            steps = [
                step(f"{control} - {name}, {condition}", costs(control, condition), costs(name, condition))
                for condition in CONTEXTS
            ]
            claims.append(Claim(f"the true context beats another document's: {name}", tuple(steps), "our control"))
    trained = "all-encoder-sparse-soft"
    if trained in known and NO_CONTEXT in known:
        steps = [
            step(f"{NO_CONTEXT} - {trained}, {condition}", costs(NO_CONTEXT, ALONE), costs(trained, condition))
            for condition in CONTEXTS
        ]
        claims.append(Claim("training all with context beats training all without", tuple(steps), "our control"))
    return [claim for claim in claims if claim.steps]


def sign_test(before: Sequence[bool], after: Sequence[bool]) -> tuple[int, int, float]:
    """Items that only `after` gets right, items that only `before` gets right, and the two-sided exact p-value of that
    split under chance (McNemar's test)."""
    gained = sum(b and not a for a, b in zip(before, after, strict=True))
    lost = sum(a and not b for a, b in zip(before, after, strict=True))
    count, least = gained + lost, min(gained, lost)
    tail = sum(math.comb(count, k) for k in range(least + 1)) / 2**count
    return gained, lost, min(1.0, 2 * tail)
