"""Elements of a page that are in another language than the page."""

from collections.abc import Sequence

from server.text.markup.languages import declared_language
from server.text.markup.tokens import Token, ends_of, is_opening

_PAGES = frozenset({"html", "body"})


def foreign_elements(tokens: Sequence[Token]) -> dict[int, int]:
    """Where the elements begin and end that declare another language than the page, if these have less than half of
    its text: else the page declares a wrong one."""
    own = language_of(tokens)
    declared = [at for at, token in enumerate(tokens) if own and declares_other(token, own)]
    ends = ends_of(tokens) if declared else {}
    foreign: dict[int, int] = {}
    last = 0
    for at in declared:
        if at in ends and at >= last:
            foreign[at] = last = ends[at]
    sizes = [len(token.raw.strip()) if token.name is None else 0 for token in tokens]
    inside = sum(sum(sizes[start:end]) for start, end in foreign.items())
    return foreign if 2 * inside < sum(sizes) else {}


def declares_other(token: Token, own: str) -> bool:
    if not is_opening(token) or token.name in _PAGES or "lang" not in token.raw.lower():
        return False
    return declared_language(token.raw) not in ("", own)


def language_of(tokens: Sequence[Token]) -> str:
    """The primary language of the whole page; "" if it declares none."""
    root = next((token for token in tokens if token.name == "html" and not token.is_close), None)
    return declared_language(root.raw) if root else ""
