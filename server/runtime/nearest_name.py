"""Suggests a known name for an unknown one."""

import difflib
from collections.abc import Iterable

LONGEST_NAME = 100
"""Characters of the longest name for which `nearest` makes a suggestion."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for an unknown name: the nearest known name, or all known names."""
    names = sorted(known)
    if len(name) > LONGEST_NAME:  # a client may have sent it, and comparing takes quadratic time
        return f"known: {', '.join(names)}"
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}"
