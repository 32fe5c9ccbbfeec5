"""Appends sentences to an online document: translates them at once, as its request waits for them, and stores all or
none."""

import asyncio
from collections.abc import Sequence

from server.documents.cutting import listed_sentences
from server.documents.drafts import with_drafts
from server.documents.encoding_cache import EncodingCache
from server.documents.errors import Refused, check_length
from server.documents.leases import next_version
from server.documents.memory_entries import index_of, with_entries
from server.documents.sentence_states import DocumentStates
from server.documents.translate import DocumentTask, translate_sentences
from server.documents.two_stage import after_first, check_explainable, check_settled, cut_for_second
from server.documents.workspace import Workspace
from server.runtime.offload import offload
from server.stores.interface import Conflict
from server.stores.records import Document, Sentence, with_changed
from server.stores.threads import in_store_thread
from server.translation.translator import Translator

MAX_ATTEMPTS = 8
"""How often an append is tried when other requests keep changing the document that it was made for."""


async def append(
    workspace: Workspace,
    document_id: str,
    sources: Sequence[str],
    first_index: int | None,
    deadline: float,
    explains: bool = False,
) -> tuple[Document, list[Sentence]]:
    """Append `sources`, each translated with what comes before it as context. Returns the document and its new
    sentences. `first_index` is the index that the first must get, None for any; `deadline` is a time.monotonic() value;
    `explains`: their attention weights will be requested. Raises TooLong, Refused, UnknownDocument, and what
    translate_sentences raises."""
    for _ in range(MAX_ATTEMPTS):
        document = await in_store_thread(workspace.store.document, document_id)
        _check(document, first_index)
        if explains:
            check_explainable(document)
        check_length(document.num_places + len(sources), workspace.max_sentences)
        async with workspace.models_of(document) as models:
            appended = await _try(workspace, models, document, sources, deadline)
        if appended is not None:
            return appended
    raise Refused("other requests keep changing this document; try again")


async def _try(
    workspace: Workspace,
    models: Sequence[Translator],
    document: Document,
    sources: Sequence[str],
    deadline: float,
) -> tuple[Document, list[Sentence]] | None:
    """One attempt; None when the document changed meanwhile. The second of two models translates what the first
    one translated."""
    done: list[tuple[Translator, DocumentStates | None, list[Sentence]]] = []
    new: list[Sentence] = []
    for translator in models:
        translator.check_capacity(1)
        index = await index_of(workspace.memories, document)
        if done:
            new = await offload(cut_for_second, [after_first(sentence) for sentence in new], translator)
        else:
            new = await offload(listed_sentences, sources, translator, document.num_sentences)
        check_length(document.num_places + _num_places(new), workspace.max_sentences)
        if index is not None:
            new = await offload(with_entries, new, translator, index)
        new, states = await _translated(workspace, translator, document, new, translator is not models[-1], deadline)
        done.append((translator, states, new))
    writing = asyncio.ensure_future(in_store_thread(_write, workspace, document, new))
    kept = await asyncio.shield(writing)
    if kept is None:
        return None
    for translator, states, translated in done:
        workspace.reader.keep_append(translator, kept, states, translated)
    return kept, new


async def _translated(
    workspace: Workspace,
    translator: Translator,
    document: Document,
    new: list[Sentence],
    is_origin: bool,
    deadline: float,
) -> tuple[list[Sentence], DocumentStates | None]:
    """The `new` sentences with their translations, and the states of all but the last sentence, as far as later ones
    see them. `is_origin`: another model translates what this one translated."""

    def read(start: int, end: int) -> list[Sentence]:
        kept = workspace.store.sentences(document.id, start, end)
        return [sentence.origin or sentence for sentence in kept] if is_origin else kept

    states = await workspace.reader.states_before_append(translator, document, read, deadline)
    encodings = EncodingCache()
    new = await with_drafts(translator, new, document.options.get("max_length"), deadline, encodings=encodings)
    states = await workspace.reader.states_with_appended(translator, document, states, new, encodings)
    pending = [sentence for sentence in new if sentence.is_pending]
    task = DocumentTask.of(document, translator)
    return with_changed(new, await translate_sentences(translator, task, pending, states, deadline)), states


def _check(document: Document, first_index: int | None) -> None:
    next_index = document.num_sentences
    if document.mode != "online":
        raise Refused("an offline document takes no more sentences; POST a new one, or use mode 'online'")
    check_settled(document)
    if first_index is not None and first_index != next_index:
        raise Refused(f"the document has {next_index} sentences: the next index is {next_index}, not {first_index}")


def _write(workspace: Workspace, document: Document, new: Sequence[Sentence]) -> Document | None:
    """Add the sentences; None when the document is longer by now, or a sentence before them was corrected. A document
    that has failed is tried again. Raises StoreFull."""
    store = workspace.store
    translated_for = (document.num_sentences, document.revision)
    while True:
        longer = next_version(
            document,
            num_sentences=document.num_sentences + len(new),
            num_places=document.num_places + _num_places(new),
            state="queued" if document.state == "failed" else document.state,
            error=None,
        )
        try:
            store.update(longer, document.version, new, workspace.limits)
            return longer
        except Conflict:
            document = store.document(document.id)
            if (document.num_sentences, document.revision) != translated_for:
                return None


def _num_places(sentences: Sequence[Sentence]) -> int:
    return sum(sentence.num_places for sentence in sentences)
