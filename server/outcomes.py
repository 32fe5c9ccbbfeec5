"""How searches end and how documents stand: the words that answers, metrics and stores have in common."""

from typing import Literal, get_args

FinishReason = Literal["eos", "length"]
"""A translation came to its end, or was cut off at its greatest length."""
DocumentState = Literal["queued", "running", "done", "failed"]
FINISH_REASONS: tuple[FinishReason, ...] = get_args(FinishReason)
DOCUMENT_STATES: tuple[DocumentState, ...] = get_args(DocumentState)
OPEN_STATES: tuple[DocumentState, ...] = ("queued", "running")
"""A document in one of these waits for a worker or has one; it is never expired."""
RESTING_STATES = tuple(state for state in DOCUMENT_STATES if state not in OPEN_STATES)
