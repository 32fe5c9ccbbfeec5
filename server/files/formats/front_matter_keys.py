"""Which values of front matter a reader of the page sees.

From the documentation of Jekyll and its SEO tag, Hugo, Docusaurus, MkDocs, Pandoc, VuePress, VitePress and Starlight.
Tags, categories and names of menus stay: generators make addresses and references of them.
"""

from collections.abc import Sequence

_TEXTS = frozenset({
    "title", "linktitle", "shorttitle", "longtitle", "subtitle", "pagetitle", "metatitle", "seotitle", "titlemeta",
    "ogtitle", "navtitle", "headline", "heading", "subheading", "tagline", "slogan", "herotext",
    "description", "metadescription", "seodescription", "ogdescription", "shortdescription", "longdescription",
    "summary", "excerpt", "abstract", "lead", "lede", "intro", "teaser", "details",
    "caption", "alt", "alttext", "imagealt", "coveralt", "imagecaption",
    "sidebarlabel", "sidebartitle", "paginationlabel", "actiontext", "linktext", "buttontext", "cta",
})  # fmt: skip
"""Keys, without case, "_" and "-", whose strings a page or a search engine shows."""
_TEXTS_INSIDE = {
    "hero": {"text"}, "actions": {"text"}, "features": {"text"}, "banner": {"content", "text"}, "sidebar": {"label"},
    "badge": {"text"}, "prev": {"text", "label"}, "next": {"text", "label"},
}  # fmt: skip
_TITLES_OF_OTHERS = frozenset({"link", "links", "parent", "redirects", "aliases", "head", "menu", "menus", "build"})
"""Keys inside of which nothing is translated."""
_NAMES = frozenset({
    "author", "authors", "name", "creator", "editor", "translator", "publisher", "copyright", "license", "institute",
    "affiliation", "affiliations",
})  # fmt: skip


def is_shown(path: Sequence[str]) -> bool:
    """Whether a page shows the string that these keys lead to."""
    *around, last = [_plain(key) for key in path] or [""]
    if not _TITLES_OF_OTHERS.isdisjoint(around):
        return False
    return last in _TEXTS or any(last in _TEXTS_INSIDE.get(key, ()) for key in around[-1:])


def is_name(path: Sequence[str]) -> bool:
    """Whether these keys lead to a name of a person or an institution."""
    return not _NAMES.isdisjoint(map(_plain, path))


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")
