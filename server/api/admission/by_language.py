"""Translates texts in several languages: each by the model for its own, those of one language together."""

from collections.abc import Awaitable, Callable, Sequence

from server.api.admission.admitted_request import AdmittedRequest
from server.translation.assembly import TextHypothesis, TextTranslation, TranslationOutcome

Translate = Callable[[str, list[str]], Awaitable[TranslationOutcome]]
"""(language, texts in it) -> their translations."""


async def translate_by_language(
    admitted: AdmittedRequest, texts: Sequence[str], languages: Sequence[str], target: str, translate: Translate
) -> list[TextTranslation]:
    """The translations of `texts`, in their order; `languages` are their languages. Texts in the `target` language stay
    as they are."""
    found = {place: _as_it_is(text) for place, text in enumerate(texts) if languages[place] == target}
    for language in dict.fromkeys(one for one in languages if one != target):
        places = [place for place, one in enumerate(languages) if one == language]
        outcome = await translate(language, [texts[place] for place in places])
        admitted.timings(outcome)
        found.update(zip(places, outcome.translations, strict=True))
    return [found[place] for place in range(len(texts))]


def _as_it_is(text: str) -> TextTranslation:
    return TextTranslation(text, (), (TextHypothesis(text, 0.0),))
