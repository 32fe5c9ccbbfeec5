"""Translates texts in several languages: the texts of each language in one call."""

from collections.abc import Awaitable, Callable, Sequence

from server.api.admission.admitted_request import AdmittedRequest
from server.translation.assembly import TextHypothesis, TextTranslation, TranslationOutcome

Translate = Callable[[str, list[str]], Awaitable[TranslationOutcome]]
"""(language, texts in it) -> their translations."""


async def translate_by_language(
    admitted: AdmittedRequest, texts: Sequence[str], languages: Sequence[str], target: str, translate: Translate
) -> list[TextTranslation]:
    """The translations of `texts`, in their order; `languages` are their languages. Texts in the `target` language are
    returned unchanged."""
    translations = {place: _unchanged(text) for place, text in enumerate(texts) if languages[place] == target}
    for language in dict.fromkeys(other for other in languages if other != target):
        places = [place for place, other in enumerate(languages) if other == language]
        outcome = await translate(language, [texts[place] for place in places])
        admitted.timings(outcome)
        translations.update(zip(places, outcome.translations, strict=True))
    return [translations[place] for place in range(len(texts))]


def _unchanged(text: str) -> TextTranslation:
    return TextTranslation(text, (), (TextHypothesis(text, 0.0),))
