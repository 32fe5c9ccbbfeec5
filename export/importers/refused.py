"""What an importer says about a checkpoint that it cannot take."""


class ImportRefused(ValueError):
    """A checkpoint that does not become an artifact; the message says why, where, and what to do."""
