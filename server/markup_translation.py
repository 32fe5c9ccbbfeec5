"""HTML and XML in a request: the texts between the tags are translated, the tags come back."""

from collections.abc import Iterable, Sequence

from server.backends.context import SentenceContext
from server.engine.request import SearchOptions
from server.text.markup import Kind, read_markup
from server.translator import TranslationOutcome, Translator


async def translate_markup(
    translator: Translator,
    documents: Sequence[str],
    kind: Kind,
    options: SearchOptions,
    ignored: Iterable[str] = (),
    context: SentenceContext | None = None,
) -> tuple[list[str], TranslationOutcome]:
    """The documents translated, and what the translator said of the texts in them (one translation for every stretch
    between two block tags). `ignored` names elements whose content stays as it is.

    Raises MalformedMarkup, TooManyMarks, and what Translator.translate raises.
    """
    ignored = tuple(ignored)
    read = [read_markup(document, kind, ignored) for document in documents]
    outcome = await translator.translate([text for one in read for text in one.texts], options, context)
    texts = (translation.text for translation in outcome.translations)
    return [one.write([next(texts) for _ in one.texts]) for one in read], outcome
