"""The error of importers."""


class ImportRefused(ValueError):
    """A checkpoint that cannot become an artifact; the message says why, where, and what to do."""
