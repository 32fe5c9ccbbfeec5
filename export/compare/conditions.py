"""The conditions under which a row is measured: which other sentences are visible."""

import torch
from torch import Tensor

from model.document_search import document_distance

ALONE, ONLINE, OFFLINE, SHUFFLED = "alone", "online", "offline", "shuffled"
IN_CONTEXT = (ONLINE, OFFLINE, SHUFFLED)
"""Visible sentences for rows with context: the sentences before, all others of the document, or, as a control, the
sentences of the next document of the set."""
WITHOUT, WITH, ANOTHERS = "without context", "with context", "with another's context"
"""Conditions of contrastive items: without context, with their context, with the context of another item."""


def stored_document(condition: str, index: int, documents: int) -> int:
    """The index of the document that is the context of document `index`."""
    return (index + 1) % documents if condition == SHUFFLED else index


def distances(condition: str, sentences: int, stored: int) -> Tensor:
    """[sentence, stored sentence], see masks.context_distance; the sentences of another document are all at distance
    one."""
    if condition == SHUFFLED:
        return torch.ones(sentences, stored, dtype=torch.long)
    return document_distance(sentences, condition == ONLINE)
