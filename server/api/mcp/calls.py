"""What tools do: what the routes do, for texts that are named as a language model names them."""

from collections.abc import Sequence

from server.api.admission.admitted_request import AdmittedRequest
from server.api.admission.plain_translation import translate_texts
from server.api.admission.text_languages import TextLanguages, languages_of
from server.api.mcp.schemas import (
    AUTO,
    Document,
    DocumentArguments,
    Languages,
    NoArguments,
    ScoreArguments,
    ScoredTranslation,
    Scores,
    SourceLanguage,
    SuspectSentence,
    TranslateArguments,
    TranslatedText,
    Translations,
)
from server.api.native.score import score_request
from server.api.native.score_schemas import ScoreItem, ScoreRequest, ScoreResponse
from server.api.requests.errors import ApiError
from server.api.requests.limits import check_document, check_sizes, requested_options
from server.api.serving.file_jobs import within
from server.api.serving.language_names import name_of
from server.api.serving.routing import RoutingTable
from server.files.file_translation import translate_as_document
from server.keys.key import owner_of
from server.runtime.offload import offload_above
from server.text.protect.terms import Terms
from server.translation.assembly import TextTranslation

MANY_SOURCES = 4
"""Source languages with the same targets, of which an error says the targets once."""


async def translate(arguments: TranslateArguments, admitted: AdmittedRequest) -> Translations:
    settings, texts = admitted.state.settings, _list(arguments.text)
    check_sizes(texts, settings)
    most = settings.engine.max_beam_size - 1
    if arguments.alternatives > most:
        raise ApiError("invalid_value", f"alternatives: at most {most} on this server", "alternatives")
    terms = await _terms(arguments.glossary, arguments.keep)
    languages = await _languages(admitted, texts, arguments.source, arguments.target)
    kind = None if arguments.format == "text" else arguments.format
    done = await translate_texts(admitted, texts, languages, kind, 1 + arguments.alternatives, terms=terms)
    sources = [detected.language for detected in languages.sources]

    def build() -> Translations:
        return Translations(translations=[_translated(*pair) for pair in zip(done, sources, strict=True)])

    return await offload_above(sum(map(len, texts)), build)


async def translate_document(arguments: DocumentArguments, admitted: AdmittedRequest) -> Document:
    state, texts = admitted.state, _list(arguments.text)
    check_document(texts, state.settings, "text")
    languages = await _languages(admitted, ["\n".join(texts)], arguments.source, arguments.target)
    [detected] = languages.sources
    if detected.language == languages.target:
        return Document(translations=texts, source=detected.language, sentences=0, check=[])
    terms = await _terms(arguments.glossary, arguments.keep)
    models = (await admitted.choose(None, detected.language, languages.target, sum(map(len, texts)))).models
    options = requested_options(models, state.settings)
    with await state.file_jobs.admit(owner_of(admitted.key), sum(map(len, texts))) as reservation:
        async with state.file_jobs.turn(reservation):
            on_progress = within(admitted.deadline, reservation.progress, "translate it in several parts", "text")
            reader, longest = state.documents.reader, state.settings.max_total_chars
            done = await translate_as_document(models, texts, reader, options, longest, on_progress, terms)
    check = [
        SuspectSentence(source=sentence.source, translation=sentence.target, flags=list(sentence.flags))
        for sentence in done.flagged
    ]
    return Document(translations=done.texts, source=detected.language, sentences=done.num_sentences, check=check)


async def score(arguments: ScoreArguments, admitted: AdmittedRequest) -> Scores:
    for code, param in ((arguments.source, "source"), (arguments.target, "target")):
        if code.lower() == AUTO:
            raise ApiError("invalid_value", f"{param}: a score needs the language's code", param)
    languages = await _languages(admitted, [arguments.text], arguments.source, arguments.target)
    [source] = languages.sources
    context = arguments.context or None
    item = ScoreItem(source=arguments.text, target=arguments.translation, context=context)
    request = ScoreRequest(items=[item], source=source.language, target=languages.target, model=None, tokens=False)
    return await score_request(request, admitted, _scores)


async def list_languages(arguments: NoArguments, admitted: AdmittedRequest) -> Languages:
    served = admitted.state.routes.languages
    return Languages(languages=[SourceLanguage(code=code, name=name_of(code), targets=served[code]) for code in served])


async def _languages(admitted: AdmittedRequest, texts: Sequence[str], source: str, target: str) -> TextLanguages:
    """Raises ApiError (422) that names what is served."""
    try:
        return await languages_of(admitted.state, texts, None if source.lower() == AUTO else source, target)
    except ApiError as error:
        raise ApiError(error.kind, f"{error.message}; {_served(admitted.state.routes)}", error.param) from None


def _served(routes: RoutingTable) -> str:
    """What is translated into what, in words: each group of sources with the same targets once."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for code, targets in routes.languages.items():
        groups.setdefault(tuple(sorted({*targets, code})), []).append(code)
    parts = [
        f"{code} to {' or '.join(routes.languages[code])}"
        for codes in groups.values()
        if len(codes) < MANY_SOURCES
        for code in codes
    ]
    parts += [
        f"from {', '.join(codes)} to {' or '.join(group)}"
        for group, codes in groups.items()
        if len(codes) >= MANY_SOURCES
    ]
    return f"this server translates {', '.join(parts)}"


async def _terms(glossary: dict[str, str], keep: list[str]) -> Terms | None:
    """The terms, None without any. Raises ApiError (422)."""
    in_both = sorted(set(keep) & set(glossary))
    if in_both:
        raise ApiError("invalid_value", f"keep: '{in_both[0]}' is in the glossary, too", "keep")
    targets = {term: term for term in keep} | glossary
    return await offload_above(sum(map(len, targets)), Terms, targets) if targets else None


def _translated(translation: TextTranslation, source: str) -> TranslatedText:
    others = dict.fromkeys(hypothesis.text for hypothesis in translation.hypotheses)
    flags = dict.fromkeys(flag for sentence in translation.sentences for flag in sentence.flags)
    alternatives = [text for text in others if text != translation.text]
    return TranslatedText(text=translation.text, source=source, alternatives=alternatives, flags=list(flags))


def _scores(answer: ScoreResponse) -> Scores:
    [item] = answer.items
    scores = [
        ScoredTranslation(
            translation=target.target, score=target.score, tokens=target.num_tokens, mean_score=target.mean_score
        )
        for target in item.targets
    ]
    return Scores(best=item.best, scores=scores, model=answer.model)


def _list(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts
