"""Names that answers, metrics, stores and caches have in common."""

from typing import Literal, get_args

FinishReason = Literal["eos", "length"]
"""A translation ended with EOS, or was cut off at its maximum length."""
DocumentState = Literal["queued", "running", "done", "failed"]
ModelState = Literal["ready", "restarting", "failed"]
"""A model translates; its engine hung or ended and is being started anew; that was tried in vain, and it is not asked
any more until it is loaded again."""
FINISH_REASONS: tuple[FinishReason, ...] = get_args(FinishReason)
DOCUMENT_STATES: tuple[DocumentState, ...] = get_args(DocumentState)
OPEN_STATES: tuple[DocumentState, ...] = ("queued", "running")
"""A document in one of these waits for a worker or has one; it is never expired."""
RESTING_STATES = tuple(state for state in DOCUMENT_STATES if state not in OPEN_STATES)
FLAGS = ("loop", "numbers_changed", "untranslated", "empty", "cut", "truncated", "moved")
"""loop: a phrase is repeated again and again · numbers_changed: the source has other numbers · untranslated: a copy of
the source · empty: there is no translation · cut: a part of a sentence that is too long for the model · truncated: it
ended at the maximum length · moved: the model lost something protected (a URL, a placeholder), which was put where it
stood in the source."""
SearchLookup = Literal["hit", "shared", "miss"]
"""What became of a sentence that was asked for: its translation was kept; it was being decoded already; neither."""
SEARCH_LOOKUPS: tuple[SearchLookup, ...] = get_args(SearchLookup)
StateLookup = Literal["hit", "miss"]
"""Whether a sentence's states were in the cache."""
STATE_LOOKUPS: tuple[StateLookup, ...] = get_args(StateLookup)
StateEviction = Literal["budget", "too_large"]
"""Why states are not in the cache: others took their place, or they alone are larger than the budget."""
STATE_EVICTIONS: tuple[StateEviction, ...] = get_args(StateEviction)
