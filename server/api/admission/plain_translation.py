"""Texts in, translations out, with the server's defaults: what the compatible APIs have in common."""

import dataclasses
from collections.abc import Awaitable, Callable, Sequence

from server.api.admission.admitted_request import AdmittedRequest
from server.api.admission.requested_memory import with_memory
from server.api.admission.text_languages import TextLanguages
from server.api.admission.two_models import pivot_of, refuse
from server.api.requests.limits import requested_options
from server.api.serving.routing import TwoModels
from server.text.markup.tokens import Kind
from server.text.protect.terms import Terms
from server.translation.assembly import TextHypothesis, TextTranslation, TranslationOutcome
from server.translation.glossary import GlossaryTranslator
from server.translation.markup_translation import TranslatesTexts, translate_markup
from server.translation.planning import TextRequest
from server.translation_memory.pairs import EXACT

Translate = Callable[[str, list[str]], Awaitable[TranslationOutcome]]
"""(language, texts in it) -> their translations."""


async def translate_texts(
    admitted: AdmittedRequest,
    texts: Sequence[str],
    languages: TextLanguages,
    kind: Kind | None = None,
    num_hypotheses: int = 1,
    model: str | None = None,
    terms: Terms | None = None,
    memory_id: str | None = None,
) -> list[TextTranslation]:
    """The translations of `texts`, those in the target language unchanged. `kind`: the markup of the texts. `model`:
    the name of the model, else the first for the languages. `terms` are translated as they say. Entries of the
    translation memory `memory_id` with equal sources are used before the model. Raises ApiError, UnknownMemory, and
    what Translator.translate and translate_markup raise."""
    settings = admitted.state.settings

    async def translate(source: str, of_source: list[str]) -> TranslationOutcome:
        translator: TranslatesTexts
        route = await admitted.choose(model, source, languages.target, sum(map(len, of_source)))
        requested = requested_options(route.models, settings, max(num_hypotheses, settings.default_beam_size))
        if isinstance(route, TwoModels):
            refuse(route, "alternatives", num_hypotheses > 1)
            pivot, options = pivot_of(route, requested, admitted)
            translator = dataclasses.replace(pivot, terms=terms)
        else:
            translator = route.model if terms is None else GlossaryTranslator(route.model, terms)
            options = route.model.options(**requested, num_hypotheses=num_hypotheses, deadline=admitted.deadline)
        if memory_id:
            translator = await with_memory(admitted, translator, route, memory_id, EXACT)
        request = TextRequest(of_source, options)
        return await (translator.translate(request) if kind is None else translate_markup(translator, request, kind))

    sources = [detected.language for detected in languages.sources]
    return await translate_by_language(admitted, texts, sources, languages.target, translate)


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
