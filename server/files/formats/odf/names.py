"""The elements of OpenDocument files that are read, by their usual prefixes."""

from collections.abc import Mapping
from functools import lru_cache

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_PREFIXES: Mapping[str, str] = {
    f"{_OASIS}office:1.0": "office",
    f"{_OASIS}text:1.0": "text",
    f"{_OASIS}table:1.0": "table",
    f"{_OASIS}drawing:1.0": "draw",
    f"{_OASIS}presentation:1.0": "presentation",
    f"{_OASIS}style:1.0": "style",
    f"{_OASIS}xsl-fo-compatible:1.0": "fo",
    f"{_OASIS}svg-compatible:1.0": "svg",
    f"{_OASIS}form:1.0": "form",
    "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0": "calcext",
    "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
    "http://purl.org/dc/elements/1.1/": "dc",
}

PARAGRAPHS = frozenset({"text:p", "text:h"})
SPANS = frozenset({"text:span", "text:a", "text:meta", "text:ruby", "text:text-input", "loext:content-control"})
"""Elements that enclose words of a sentence."""
IN_ORDER = frozenset({
    "text:bookmark", "text:bookmark-start", "text:bookmark-end", "text:reference-mark", "text:reference-mark-start",
    "text:reference-mark-end", "text:change", "text:change-start", "text:change-end", "text:toc-mark",
    "text:toc-mark-start", "text:toc-mark-end", "text:user-index-mark", "text:user-index-mark-start",
    "text:user-index-mark-end", "text:alphabetical-index-mark", "text:alphabetical-index-mark-start",
    "text:alphabetical-index-mark-end", "office:annotation", "office:annotation-end",
})  # fmt: skip
"""Places between words, and the ends of ranges."""
SETTINGS = frozenset({"loext:list-item"})
"""What stands at the beginning of an element and belongs to it."""
HIDDEN = frozenset({"text:soft-page-break"})
BREAKS: Mapping[str, str] = {"text:tab": "\t", "text:line-break": "\n"}
FLOATING = frozenset({"page", "frame", "paragraph", "char"})
"""Anchors of what stands beside the text and not in it."""
SKIPPED = frozenset({
    "office:annotation", "office:scripts", "office:forms", "text:tracked-changes", "table:tracked-changes",
    "table:data-pilot-tables", "table:dde-links",
})  # fmt: skip
"""Elements whose text is no text of the document: comments, what was deleted, what programs compute."""
LABELS = frozenset({
    "svg:title", "svg:desc", "table:title", "table:desc", "presentation:header-decl", "presentation:footer-decl",
    "text:index-title-template", "text:index-entry-span", "text:note-continuation-notice-forward",
    "text:note-continuation-notice-backward",
})  # fmt: skip
"""Elements that hold a text of one piece."""
SEEN: Mapping[str, tuple[str, ...]] = {
    **{f"form:{name}": ("form:label", "form:title") for name in (
        "button", "checkbox", "combobox", "date", "file", "fixed-text", "formatted-text", "frame", "image", "item",
        "listbox", "number", "option", "password", "radio", "text", "textarea", "time",
    )},
    "text:a": ("office:title",),
    "loext:list-item": ("loext:display-text",),
    "table:help-message": ("table:title",),
    "table:error-message": ("table:title",),
}  # fmt: skip
"""Elements with attributes that a reader sees."""
NUMBERED = frozenset({"text:list-level-style-number", "text:outline-level-style"})
AROUND_NUMBERS = ("style:num-prefix", "style:num-suffix", "loext:num-list-format")
"""Attributes with what stands round the numbers of lists and headings: "Chapter " and "Chapter %1%"."""
WORDS_OF_FIELDS = frozenset({
    "text:placeholder", "text:conditional-text", "text:hidden-text", "text:drop-down", "text:user-field-get",
    "text:user-field-input", "text:variable-set", "text:variable-get", "text:variable-input", "text:bookmark-ref",
    "text:reference-ref", "text:chapter", "text:meta-field",
})  # fmt: skip
"""Fields that may show words which somebody wrote."""
ALTERNATIVE_TEXTS = frozenset({"svg:title", "svg:desc"})
COMPARISONS: Mapping[str, tuple[str, ...]] = {
    "table:table-cell": ("table:formula",),
    "table:content-validation": ("table:condition",),
    "table:filter-condition": ("table:value",),
    "table:filter-set-item": ("table:value",),
    "style:map": ("style:condition",),
    "calcext:condition": ("calcext:value",),
}
"""Attributes that compare words with the words in cells."""


@lru_cache(1024)
def named(expanded: str) -> str:
    """The name of an element or an attribute with its usual prefix; "" for other namespaces."""
    namespace, _, name = expanded.rpartition(" ")
    prefix = _PREFIXES.get(namespace)
    return f"{prefix}:{name}" if prefix else ""
