"""Translates texts in several languages: each by the model for its own, those of one language together."""

from collections.abc import Awaitable, Callable, Sequence

from server.api.visit import Visit
from server.translations import TextTranslation, TranslationOutcome

Translate = Callable[[str, list[str]], Awaitable[TranslationOutcome]]
"""(language, texts in it) -> their translations."""


async def translate_by_language(
    visit: Visit, texts: Sequence[str], languages: Sequence[str], translate: Translate
) -> list[TextTranslation]:
    """The translations of `texts`, in their order; `languages` are their languages."""
    found: dict[int, TextTranslation] = {}
    for language in dict.fromkeys(languages):
        places = [place for place, one in enumerate(languages) if one == language]
        outcome = await translate(language, [texts[place] for place in places])
        visit.timings(outcome)
        found.update(zip(places, outcome.translations, strict=True))
    return [found[place] for place in range(len(texts))]
