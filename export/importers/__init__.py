"""Importers: checkpoints that others trained become RingMT's models."""


class ImportRefused(ValueError):
    """A checkpoint that cannot become an artifact; the message says why, where, and what to do."""
