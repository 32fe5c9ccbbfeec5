"""Keep masks: bool tensors, True = may attend."""

import torch
from torch import Tensor

HIDDEN = -1e9
"""Energy or logit of a hidden key or a suppressed token in graphs and searches."""


def padding_keep(keep: Tensor) -> Tensor:
    """[batch, key] -> [batch, 1, 1, key], ready to broadcast over heads and queries."""
    return keep[:, None, None, :]


def ngram_keep(query_position: Tensor, key_position: Tensor, order: int | None) -> Tensor:
    """Which keys each query may see under the order-N assumption (Chelba et al. 2019, section 2).

    query_position [batch, query] and key_position [batch, key] are absolute target positions; a negative key
    position marks an empty slot. A query at i sees keys j with 0 <= i-j <= N-2, that is N-1 keys with its own.
    `order` None means every key up to the query's own. Returns [batch, 1, query, key].
    """
    distance = query_position[:, None, :, None] - key_position[:, None, None, :]
    keep = (distance >= 0) & (key_position >= 0)[:, None, None, :]
    if order is not None:
        keep = keep & (distance <= order - 2)
    return keep


def positions_of(ids: Tensor) -> Tensor:
    """Absolute positions 0..length-1 for a [batch, length] tensor, as [1, length]."""
    return torch.arange(ids.shape[1], device=ids.device)[None, :]


def context_distance(
    query_document: Tensor,
    query_index: Tensor,
    key_document: Tensor,
    key_index: Tensor,
    online: bool,
    reach: int | None = None,
) -> Tensor:
    """The distance in sentences between a sentence and those that it may attend to, 0 for hidden ones (Maruf et al.
    2019, section 3). Functions of distances take bools as well: True is a distance of one.

    The query tensors [query] and the key tensors [sentence] hold a document number and the place within the document.
    Hidden are other documents and the sentence itself; online also later sentences; with a `reach` sentences that are
    further away. Returns int64 [query, sentence].
    """
    later = query_index[:, None] - key_index[None, :]
    distance = later.clamp(min=0) if online else later.abs()
    if reach is not None:
        distance = distance * (distance <= reach)
    return distance * (query_document[:, None] == key_document[None, :])


def distance_before(sentences: int) -> Tensor:
    """Distances [sentence] of a sentence to all `sentences` before it: the last is at distance one."""
    return torch.arange(sentences, 0, -1)
