"""Values of labels, fields and states that API, metrics, stores and caches share."""

from typing import Literal, get_args

FinishReason = Literal["eos", "length"]
"""A translation ended with EOS, or was cut off at its maximum length."""
DocumentState = Literal["queued", "running", "done", "failed"]
ModelState = Literal["ready", "unloaded", "restarting", "failed"]
"""The model translates; it is loaded for its next request; its engine was stuck or exited and is being replaced; it
could not be replaced or loaded, and the model is not used until an administrator loads it again."""
AVAILABLE_STATES: tuple[ModelState, ...] = ("ready", "unloaded")
"""States of a model that requests may name."""
FINISH_REASONS: tuple[FinishReason, ...] = get_args(FinishReason)
DOCUMENT_STATES: tuple[DocumentState, ...] = get_args(DocumentState)
OPEN_STATES: tuple[DocumentState, ...] = ("queued", "running")
"""States of a document that waits for a worker or has one; such a document never expires."""
RESTING_STATES = tuple(state for state in DOCUMENT_STATES if state not in OPEN_STATES)
FLAGS = ("loop", "numbers_changed", "untranslated", "empty", "cut", "truncated", "moved")
"""loop: a phrase is repeated again and again · numbers_changed: the source has other numbers, or a currency was lost ·
untranslated: a copy of the source · empty: there is no translation · cut: a part of a sentence that is too long for
the model, or that was translated in clauses because the model left some out · truncated: it ended at the maximum
length, or lacks a part of the source · moved: the model lost a protected text (a URL, a placeholder), which was
inserted at its position in the source, or two words in capitals became one."""
SearchLookup = Literal["hit", "shared", "miss"]
"""The result of a lookup in the translation cache: cached; being decoded already; neither."""
SEARCH_LOOKUPS: tuple[SearchLookup, ...] = get_args(SearchLookup)
StateLookup = Literal["hit", "miss"]
"""Whether a sentence's states were in the cache."""
STATE_LOOKUPS: tuple[StateLookup, ...] = get_args(StateLookup)
StateEviction = Literal["budget", "too_large"]
"""Why states were evicted: for other states, or because they alone exceed the budget."""
STATE_EVICTIONS: tuple[StateEviction, ...] = get_args(StateEviction)
