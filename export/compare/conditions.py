"""Under which conditions a row is measured: what a sentence sees of other sentences."""

import torch
from torch import Tensor

from model.document_search import document_distance

ALONE, ONLINE, OFFLINE, SHUFFLED = "alone", "online", "offline", "shuffled"
IN_CONTEXT = (ONLINE, OFFLINE, SHUFFLED)
"""What the sentences of a row with context see: the sentences before it, all others of its document, or, the control,
the sentences of the set's next document."""
WITHOUT, WITH, ANOTHERS = "without context", "with context", "with another's context"
"""Under which conditions a row judges contrastive items: each alone, after its own sentences, after another item's."""


def stored_document(condition: str, index: int, documents: int) -> int:
    """Which document's sentences those of document `index` see."""
    return (index + 1) % documents if condition == SHUFFLED else index


def distances(condition: str, sentences: int, stored: int) -> Tensor:
    """[sentence, stored sentence], see masks.context_distance; those of another document are all a sentence away."""
    if condition == SHUFFLED:
        return torch.ones(sentences, stored, dtype=torch.long)
    return document_distance(sentences, condition == ONLINE)
