"""The plural forms of gettext catalogues: how many a language has, and which number takes which."""

import re
from typing import NamedTuple

from server.text.markup.languages import primary

TEMPLATE = "nplurals=INTEGER; plural=EXPRESSION"
"""What templates have in place of a rule."""
_DECLARED = re.compile(r"^Plural-Forms:[ \t]*nplurals[ \t]*=[ \t]*(\d{1,2})[ \t]*;[^\n]*$", re.MULTILINE)
_TRANSLATED = re.compile(r'^[ \t]*msgstr\[\d{1,2}\][ \t]*"(?:[^"\n]|"[ \t]*\r?\n[ \t]*"[^"\n])', re.MULTILINE)
_SLAVIC = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"
_RULES = (
    (1, "0", "ja ko zh th vi id ms lo my km"),
    (2, "(n > 1)", "fr pt_BR oc br wa fil tl mg ln"),
    (
        2,
        "(n != 1)",
        "bg da de el en eo es et fi fo hu it nb nl nn no pt sv tr ca eu gl he hi bn ur ta te ml mr gu kn pa ne sw af "
        "sq az kk ky uz mn lb fy zu xh so hy ka",
    ),
    (3, f"({_SLAVIC})", "ru uk be sr hr bs"),
    (3, "(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2)", "pl"),
    (3, "(n==1 ? 0 : n>=2 && n<=4 ? 1 : 2)", "cs sk"),
    (3, "(n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2)", "ro mo"),
    (3, "(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2)", "lt"),
    (3, "(n%10==1 && n%100!=11 ? 0 : n!=0 ? 1 : 2)", "lv"),
    (4, "(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3)", "sl"),
    (2, "(n%10==1 && n%100!=11 ? 0 : 1)", "is mk"),
    (5, "(n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4)", "ga"),
    (6, "(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5)", "ar"),
)  # fmt: skip
"""Number of forms, rule, languages. Programs choose a form by the rule in the catalogue itself."""


class Plurals(NamedTuple):
    num_forms: int
    rule: str

    @property
    def field(self) -> str:
        return f"nplurals={self.num_forms}; plural={self.rule};"


_BY_LANGUAGE = {language: Plurals(count, rule) for count, rule, languages in _RULES for language in languages.split()}


def plurals_of(language: str) -> Plurals | None:
    """`language`: "pl", "pt_BR". None for a language whose rule is not known."""
    return _BY_LANGUAGE.get(language.replace("-", "_")) or _BY_LANGUAGE.get(primary(language))


def with_plurals(header: str, language: str, is_other: bool) -> str:
    """The header with the rule of the language, in place of a template's or, if it `is_other`, of another one's."""
    plurals = plurals_of(language)
    if plurals is None:
        return header
    if TEMPLATE in header:
        return header.replace(f"{TEMPLATE};", plurals.field, 1).replace(TEMPLATE, plurals.field, 1)
    found = _DECLARED.search(header) if is_other else None
    if found is None or int(found[1]) == plurals.num_forms:
        return header
    return f"{header[: found.start()]}Plural-Forms: {plurals.field}{header[found.end() :]}"


def num_forms(header: str) -> int | None:
    """How many forms a header declares; None where it declares none."""
    found = _DECLARED.search(header)
    return int(found[1]) if found else None


def has_translated_plurals(catalogue: str) -> bool:
    """Whether a form of a plural has a translation, which would not fit another rule. Linear."""
    return _TRANSLATED.search(catalogue) is not None
