"""A row of the table of protected spans."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A kind of text that is not translated.

    `pattern` matches it in linear time: a search that fails ends where the next one begins, or after a bounded number
    of characters. `hint` matches a part of every match, and hardly anything in ordinary sentences. `examples` are whole
    spans; `language` are texts that look like one and are translated.
    """

    name: str
    pattern: str
    hint: str
    examples: tuple[str, ...]
    language: tuple[str, ...] = ()
