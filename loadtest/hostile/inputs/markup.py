"""Texts with tags that are nested, or that close elements that are not open."""

from loadtest.hostile.attempt import Attempt, hostile_input, scaled
from loadtest.hostile.sending import post_json, upload


def unmatched(share: float) -> str:
    """8,192 tags that open one after the other, and as many that close others: 73 kB."""
    count = scaled(8_192, share)
    return "<b>" * count + "a" + "</i>" * count


def libre(text: object) -> Attempt:
    return post_json("/translate", {"q": text, "source": "en", "target": "de", "format": "html"})


def deepl(text: list[str], kind: str) -> Attempt:
    fields = {"text": text, "source_lang": "EN", "target_lang": "DE", "tag_handling": kind}
    return post_json("/v2/translate", fields)


@hostile_input("HTML: tags that close others, LibreTranslate's API")
def unmatched_libre(share: float) -> Attempt:
    """8,192 `<b>`, then as many `</i>`, six times."""
    return libre([unmatched(share)] * 6)


@hostile_input("HTML: tags that close others, DeepL's API")
def unmatched_deepl(share: float) -> Attempt:
    """The same."""
    return deepl([unmatched(share)] * 6, "html")


@hostile_input("XML: tags that close others, DeepL's API")
def unmatched_xml(share: float) -> Attempt:
    """The same as XML."""
    return deepl([unmatched(share)] * 6, "xml")


@hostile_input("HTML file: tags that close others")
def unmatched_file(share: float) -> Attempt:
    """The same as a file of eight paragraphs."""
    return upload("a.html", f"<p>{unmatched(share)}</p>".encode() * 8)


@hostile_input("Markdown file: tags that close others")
def unmatched_markdown(share: float) -> Attempt:
    """The same as a Markdown file."""
    return upload("a.md", f"{unmatched(share)}\n\n".encode() * 8)


@hostile_input("XML: tags in tags")
def nested(share: float) -> Attempt:
    """14,000 `<a>` in each other, five times."""
    count = scaled(14_000, share)
    return deepl(["<a>" * count + "a" + "</a>" * count] * 5, "xml")


@hostile_input("XML: tags in tags, some text in each")
def nested_text(share: float) -> Attempt:
    """The same with a letter at every level."""
    count = scaled(10_000, share)
    return deepl(["<a>b " * count + "</a>" * count] * 5, "xml")


@hostile_input("HTML: tags that do not end")
def endless(share: float) -> Attempt:
    """`<a b="`, again and again."""
    return libre(['<a b="' * scaled(16_000, share)] * 5)


@hostile_input("HTML: references and comments that do not end")
def references(share: float) -> Attempt:
    """`&` and `<!--`, again and again."""
    return libre(["&#<!--&amp" * scaled(10_000, share)] * 5)
