"""What is compared: variants, each with the mean costs of its seeds, on the same sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from export.compare.likelihood import Estimate, mean_estimate, per_token
from export.compare.measurements import Measured, SentenceCosts, mean_log_perplexity


@dataclass(frozen=True)
class Contender:
    """All seeds of one variant: mean costs of every sentence."""

    name: str
    costs: dict[str, SentenceCosts]
    seeds: int = 1

    @property
    def log_perplexity(self) -> Estimate:
        return mean_log_perplexity(self.costs)


def mean_costs(seeds: Sequence[Measured]) -> dict[str, SentenceCosts]:
    """Every sentence's cost, averaged over rows, on the sets that all of them were measured on."""
    names = [name for name in seeds[0].costs if all(name in seed.costs for seed in seeds)]
    return {
        name: SentenceCosts(np.mean([seed.costs[name].nll for seed in seeds], axis=0), seeds[0].costs[name].tokens)
        for name in names
    }


def families(rows: Sequence[Measured]) -> list[dict[str, Contender]]:
    """The bundled recipes' rows by name, seeds together; one mapping for every vocabulary: costs in other pieces do not
    compare."""
    found: dict[str, dict[str, list[Measured]]] = {}
    for measured in rows:
        if measured.row.bundled and measured.costs:
            family = found.setdefault(measured.row.vocabulary_hash, {})
            family.setdefault(measured.row.bundled, []).append(measured)
    return [
        {name: Contender(name, mean_costs(seeds), len(seeds)) for name, seeds in family.items()}
        for family in found.values()
    ]


def contrast(worse: Sequence[Contender], better: Sequence[Contender]) -> Estimate:
    """Log-perplexities of `worse` less those of `better`, summed, sentence by sentence; the mean over the sets that all
    have."""
    members = [*worse, *better]
    signs = [1.0] * len(worse) + [-1.0] * len(better)
    shared = [name for name in members[0].costs if all(name in member.costs for member in members)]
    return mean_estimate(
        [
            per_token(
                np.sum([s * m.costs[name].nll for s, m in zip(signs, members, strict=True)], axis=0),
                members[0].costs[name].tokens,
            )
            for name in shared
        ]
    )


def seed_groups(rows: Sequence[Measured]) -> list[list[Measured]]:
    """Rows that differ in their seed alone, where there are several."""
    groups: dict[str, list[Measured]] = {}
    for measured in rows:
        groups.setdefault(measured.row.group(), []).append(measured)
    return [group for group in groups.values() if len(group) > 1]


def seed_deviation(rows: Sequence[Measured]) -> float | None:
    """Standard deviation of the log-perplexity from seed to seed, pooled over variants with several; None where no
    variant has."""
    groups = [[m.log_perplexity.value for m in group if m.log_perplexity] for group in seed_groups(rows)]
    squares = sum(float(np.var(values) * len(values)) for values in groups if len(values) > 1)
    freedom = sum(len(values) - 1 for values in groups if len(values) > 1)
    return float(np.sqrt(squares / freedom)) if freedom else None


def named(family: Mapping[str, Contender], names: Sequence[str]) -> list[Contender] | None:
    """All of these, or None where one was not trained."""
    return [family[name] for name in names] if all(name in family for name in names) else None
