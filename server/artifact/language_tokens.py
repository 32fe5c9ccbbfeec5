"""The languages of a model that translates between many."""

from dataclasses import dataclass
from typing import Any

MANY = "mul"
"""The language code of a side that has several (ISO 639-2)."""


@dataclass(frozen=True)
class LanguageTokens:
    """The languages of a model that translates between many, and their tokens. A source begins with the ids of its
    target language, then with those of its own. With `starts_target` the decoder reads the former, behind BOS (M2M-100,
    Fan et al. 2020); else the encoder reads all of them (Johnson et al. 2017)."""

    sources: dict[str, tuple[int, ...]]
    """Language code -> ids."""
    targets: dict[str, tuple[int, ...]]
    starts_target: bool

    def translates(self, source: str, target: str) -> bool:
        return source in self.sources and target in self.targets and source != target

    def prefix(self, source: str, target: str) -> tuple[int, ...]:
        """The first ids of every source."""
        return (*self.targets[target], *self.sources[source])

    @property
    def start_length(self) -> int:
        """How many of the first ids of a source the decoder reads."""
        return len(next(iter(self.targets.values()))) if self.starts_target else 0

    @property
    def first_pair(self) -> tuple[str, str]:
        """The languages of examples: English into another, where English is translated."""
        sources = sorted(self.sources, key=lambda code: code != "en")
        return next(
            (source, target) for source in sources for target in self.targets if self.translates(source, target)
        )


def parse_languages(values: dict[str, Any]) -> LanguageTokens:
    """Raises ValueError for tokens that are not those of a model that translates."""
    sources, targets = (
        {str(code): tuple(map(int, ids)) for code, ids in values[side].items()} for side in ("sources", "targets")
    )
    parsed = LanguageTokens(sources, targets, bool(values["starts_target"]))
    if not sources or not targets or len({*sources, *targets}) < 2:
        raise ValueError("languages: there is no pair of them")
    if len({*map(len, targets.values())}) > 1:
        raise ValueError("languages: targets have different numbers of tokens")
    return parsed
