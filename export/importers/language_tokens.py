"""Language tokens of models with several targets: words like >>deu<< before every source."""

from collections.abc import Mapping
from pathlib import Path

from export.importers import ImportRefused

LISTED = 20


def prefix_of(words: Mapping[str, int], target: str, requested: str | None, where: Path) -> tuple[int, ...]:
    """The ids before every source, of a model with these words: `requested` names a language token, or "none"; without
    it the token of the target language is taken. Raises ImportRefused where a choice is needed."""
    tokens = {text[2:-2]: index for text, index in words.items() if text.startswith(">>") and text.endswith("<<")}
    if requested == "none" or not (tokens or requested):
        return ()
    wanted = requested.removeprefix(">>").removesuffix("<<") if requested else target
    if wanted in tokens:
        return (tokens[wanted],)
    some = ", ".join(sorted(tokens)[:LISTED]) + (", ..." if len(tokens) > LISTED else "")
    raise ImportRefused(
        f"{where} has no language token {wanted}: choose one by --language-token, among {some or 'none'}, or none"
    )
