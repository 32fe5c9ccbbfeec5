"""Documents that two models translate in turn, through a third language: the first translates the document, the second
translates that translation, each in the light of what it knows of the others.

As long as it is the first one's turn, sentences are as that reads and translates them. Then the document is handed
over: what was said of a sentence becomes its source, and the sentence as it was becomes its `origin`.
"""

from collections.abc import Sequence
from dataclasses import replace

from server.documents.cutting import cut
from server.documents.errors import Refused
from server.documents.leases import Lease, Reading, next_version
from server.stores.interface import Conflict
from server.stores.records import Document, Leg, Sentence
from server.translation.translator import Translator


def legs_of(translators: Sequence[Translator]) -> tuple[Leg, ...]:
    """What a document keeps of two models; nothing of a single one."""
    if len(translators) == 1:
        return ()
    return tuple(Leg(one.name, one.fingerprint, one.languages[1]) for one in translators)


def on_leg(document: Document, leg: Leg) -> Document:
    """The document as it is when it is this one's turn."""
    return replace(document, model=leg.model, fingerprint=leg.fingerprint)


def after_first(sentence: Sentence) -> Sentence:
    """A sentence that the first model translated, as the second gets it: it is not cut yet."""
    return Sentence(
        sentence.index, sentence.translation or "", (), sentence.gap, version=sentence.version, origin=sentence
    )


def hand_over(lease: Lease, known: Reading) -> bool:
    """Give a document that its first model has translated to its second, for whom all of it is pending; returns whether
    that was written, which it is only if the document is as `known`. Raises LeaseLost and UnknownDocument."""
    leg = known.document.next_leg
    assert leg is not None
    document = on_leg(next_version(known.document, attempts=0, num_pending=len(known.sentences)), leg)
    try:
        lease.store.update(document, known.document.version, [after_first(one) for one in known.sentences])
        return True
    except Conflict:
        lease.renew()
        return False


def is_uncut(sentence: Sentence) -> bool:
    """The second model is to read it, and has not cut it yet."""
    return sentence.origin is not None and not sentence.parts


def cut_for_second(sentences: Sequence[Sentence], translator: Translator) -> list[Sentence]:
    """The sentences as the second model reads them; those that are cut already stay as they are."""
    return [replace(one, parts=cut(one.source, translator)) if is_uncut(one) else one for one in sentences]


def as_told(document: Document, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences as users know them: in the language of the document, translated when both models have."""
    return [_as_told(one, document.next_leg is None) for one in sentences] if document.legs else list(sentences)


def _as_told(sentence: Sentence, is_second: bool) -> Sentence:
    first = sentence.origin
    if not is_second or first is None:
        return replace(sentence, translation=None, finish_reason=None, score=None, context_used=())
    is_cut_off = first.finish_reason == "length" and sentence.finish_reason is not None
    return replace(sentence, source=first.source, finish_reason="length" if is_cut_off else sentence.finish_reason)


def check_settled(document: Document) -> None:
    """Raises Refused for a change of a document that two models have not finished."""
    if document.legs and document.state != "done":
        raise Refused(
            f"two models translate this document in turn, and it is {document.state}: it can be changed when it is "
            "done; one that has failed is sent again"
        )


def check_source(document: Document) -> None:
    """Raises Refused for a new source of a sentence in a document that two models translated."""
    if document.legs:
        raise Refused(
            f"two models translated this document in turn, {_way(document)}, and the first does not translate again: "
            "correct the `translation`, or send the document again with its new source"
        )


def check_looks(document: Document) -> None:
    """Raises Refused where it is asked at what the sentences of a document looked that two models translated."""
    if document.legs:
        middle = document.legs[0].target_language
        raise Refused(
            f"two models translate this document in turn, {_way(document)}, and the sentences of each look at one "
            f"another: send it as a document into '{middle}', and its translation as another one, to see where they do"
        )


def _way(document: Document) -> str:
    return " to ".join([document.source_language, *(leg.target_language for leg in document.legs)])
