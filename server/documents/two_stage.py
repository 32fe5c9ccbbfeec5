"""Documents that two models translate, through a third language: what a document and its sentences are in each stage.
Work on the document is `job`'s; the rules that texts and files share are in `server.translation.two_stage`.

In the first stage, sentences are as the first model reads and translates them. Then the document is handed over: each
translation becomes the source of a sentence of the second stage, and the sentence before becomes its `origin`.
"""

from collections.abc import Sequence
from dataclasses import replace

from server.documents.cutting import cut
from server.documents.errors import Refused
from server.documents.leases import DocumentSnapshot, Lease, next_version
from server.stores.interface import Conflict
from server.stores.records import Document, Leg, Sentence
from server.translation.translator import Translator
from server.translation.two_stage import finish_reason_of


def legs_of(translators: Sequence[Translator]) -> tuple[Leg, ...]:
    """What a document keeps of its two models; nothing of a single one."""
    if len(translators) == 1:
        return ()
    return tuple(Leg(model.name, model.fingerprint, model.languages[1]) for model in translators)


def in_stage(document: Document, leg: Leg) -> Document:
    """The document as it is in the stage of this model."""
    return replace(document, model=leg.model, fingerprint=leg.fingerprint)


def languages_of_stage(document: Document) -> tuple[str, str]:
    """Source and target of the model that the document is with."""
    source = document.source_language
    for leg in document.legs:
        if (leg.model, leg.fingerprint) == (document.model, document.fingerprint):
            return source, leg.target_language
        source = leg.target_language
    return document.source_language, document.target_language


def after_first(sentence: Sentence) -> Sentence:
    """The sentence of the second stage that a translated sentence of the first becomes; it is not cut yet."""
    return Sentence(
        sentence.index, sentence.translation or "", (), sentence.gap, version=sentence.version, origin=sentence
    )


def hand_over(lease: Lease, known: DocumentSnapshot) -> bool:
    """Begin the second stage of a document, in which all sentences are pending again; returns whether that was written,
    which it is only if the document is still as `known`. Raises LeaseLost and UnknownDocument."""
    leg = known.document.next_leg
    assert leg is not None
    document = in_stage(next_version(known.document, attempts=0, num_pending=len(known.sentences)), leg)
    try:
        lease.store.update(document, known.document.version, [after_first(sentence) for sentence in known.sentences])
        return True
    except Conflict:
        lease.renew()
        return False


def is_uncut(sentence: Sentence) -> bool:
    """Whether a sentence of the second stage is still to be cut by the second model."""
    return sentence.origin is not None and not sentence.parts


def cut_for_second(sentences: Sequence[Sentence], translator: Translator) -> list[Sentence]:
    """The sentences as the second model reads them; sentences that are cut already stay as they are."""
    return [
        replace(sentence, parts=cut(sentence.source, translator)) if is_uncut(sentence) else sentence
        for sentence in sentences
    ]


def num_pending(document: Document) -> int | None:
    """The number of sentences that users wait for: all, until the first of two models has translated them. None where
    RingMT 0.4 or older stored the document."""
    if document.state == "done" or not document.num_sentences:
        return 0
    return document.num_pending if document.next_leg is None else document.num_sentences


def as_shown(document: Document, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences as users see them: in the language of the document, translated when both models have."""
    if not document.legs:
        return list(sentences)
    return [_as_shown(sentence, document.next_leg is None) for sentence in sentences]


def _as_shown(sentence: Sentence, is_second: bool) -> Sentence:
    first = sentence.origin
    if not is_second or first is None:
        return replace(sentence, translation=None, finish_reason=None, score=None, context_used=(), flags=())
    reason = sentence.finish_reason and finish_reason_of([first.finish_reason, sentence.finish_reason])
    return replace(sentence, source=first.source, finish_reason=reason)


def check_settled(document: Document) -> None:
    """Raises Refused for a change of a document that two models have not finished."""
    if document.legs and document.state != "done":
        raise Refused(
            f"two models translate this document, and it is {document.state}: it can be changed when it is "
            "done; one that has failed is sent again"
        )


def check_source(document: Document) -> None:
    """Raises Refused for a new source of a sentence in a document that two models translated."""
    if document.legs:
        raise Refused(
            f"two models translated this document, {_languages(document)}, and the first does not translate again: "
            "correct the `translation`, or send the document again with its new source"
        )


def check_explainable(document: Document) -> None:
    """Raises Refused for the attention weights of a document that two models translate."""
    if document.legs:
        middle = document.legs[0].target_language
        raise Refused(
            f"two models translate this document, {_languages(document)}, and its sentences attend to one "
            f"another in each stage: to see how, send it as a document into '{middle}', and its translation as another"
        )


def _languages(document: Document) -> str:
    return " to ".join([document.source_language, *(leg.target_language for leg in document.legs)])
