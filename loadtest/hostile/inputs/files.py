"""Text files that make parsers read the same characters again and again, or very many small pieces."""

import json

from loadtest.hostile.attempt import Attempt, hostile_input, scaled
from loadtest.hostile.sending import upload, upload_to_deepl


@hostile_input("subtitles of arrows, 24 kB")
def arrows(share: float) -> Attempt:
    """An .srt file that holds nothing but `-->`."""
    return upload("a.srt", b"-->" * scaled(8_000, share))


@hostile_input("subtitles of arrows, 240 kB")
def more_arrows(share: float) -> Attempt:
    """The same, ten times as long."""
    return upload("a.srt", b"-->" * scaled(80_000, share))


@hostile_input("subtitles of arrows, to DeepL's API")
def arrows_to_deepl(share: float) -> Attempt:
    """The same as a document that is translated after the answer."""
    return upload_to_deepl("a.srt", b"-->" * scaled(20_000, share))


@hostile_input("subtitles of broken tags")
def broken_tags(share: float) -> Attempt:
    """Cues in which tags begin and never end."""
    head = b"1\n00:00:01,000 --> 00:00:02,000\n"
    return upload("a.srt", head + b"<a" + b"<b.c-d" * scaled(60_000, share) + b"\n")


@hostile_input("subtitles of one long tag")
def long_tag(share: float) -> Attempt:
    """A cue that is one tag without an end."""
    return upload("a.vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n" + b"<c" + b".a" * scaled(200_000, share) + b"\n")


@hostile_input("HTML in punycode")
def html_punycode(share: float) -> Attempt:
    """An HTML file that says it is punycode, whose decoder takes quadratic time."""
    return upload("a.html", b'<meta charset="punycode"><p>-' + b"a" * scaled(500_000, share))


@hostile_input("HTML in odd charsets")
def html_charset(share: float) -> Attempt:
    """An HTML file that says it is in a codec that decodes no text."""
    return upload("a.html", b'<meta charset="rot13"><p>' + b"Good morning. " * scaled(20_000, share))


@hostile_input("a file of marks")
def placeholders(share: float) -> Attempt:
    """A text file of the private-plane characters that the server uses as placeholders."""
    count = scaled(100_000, share)
    return upload("a.txt", "".join(chr(0xF0000 + number % 0xFFFE) for number in range(count)).encode())


@hostile_input("Markdown: opening brackets")
def brackets(share: float) -> Attempt:
    """A Markdown file of `[` and `![`."""
    return upload("a.md", b"[![" * scaled(60_000, share))


@hostile_input("Markdown: code that does not close")
def backticks(share: float) -> Attempt:
    """Runs of backticks, each of another length."""
    return upload("a.md", " ".join("`" * number for number in range(1, scaled(900, share**0.5))).encode())


@hostile_input("Markdown: emphasis that does not close")
def emphasis(share: float) -> Attempt:
    """Stars and underscores that open and do not close."""
    return upload("a.md", b"*a_ **b__ ~~c " * scaled(20_000, share))


@hostile_input("Markdown: quotes in quotes")
def quotes(share: float) -> Attempt:
    """Lines that are quoted deeper and deeper."""
    return upload("a.md", b"".join(b"> " * number + b"a\n" for number in range(1, scaled(600, share**0.5))))


@hostile_input("Markdown: lists in lists")
def lists(share: float) -> Attempt:
    """A line of list markers, many times."""
    return upload("a.md", (b"- " * 500 + b"a\n") * scaled(200, share))


@hostile_input("Markdown: everything at once")
def markdown_mixture(share: float) -> Attempt:
    """Links, pictures, quotes, code and tags that all begin and do not end."""
    return upload("a.md", b'![a](<b [c][ `d <e f="g\n> *h **i\n' * scaled(8_000, share))


@hostile_input("CSV of 250,000 cells")
def cells(share: float) -> Attempt:
    """A cell for every other byte."""
    return upload("a.csv", (b"a," * 249 + b"a\n") * scaled(1_000, share))


@hostile_input("CSV: quotes that do not close")
def csv_quotes(share: float) -> Attempt:
    """Cells that begin with a quotation mark."""
    return upload("a.csv", b'"a""b,"\n""' * scaled(40_000, share))


@hostile_input("gettext of 10^5 entries")
def entries(share: float) -> Attempt:
    """A .po file of the shortest entries."""
    text = "".join(f'msgid "a{number}"\nmsgstr ""\n\n' for number in range(scaled(100_000, share)))
    return upload("a.po", text.encode())


@hostile_input("gettext: one entry of many lines")
def long_entry(share: float) -> Attempt:
    """An entry whose text comes a character a line."""
    return upload("a.po", b'msgid ""\n' + b'"a"\n' * scaled(200_000, share) + b'msgstr ""\n')


@hostile_input("JSON of 10^5 strings")
def strings(share: float) -> Attempt:
    """A .json file of a list of short strings."""
    return upload("a.json", json.dumps(["a b"] * scaled(100_000, share)).encode())


@hostile_input("JSON: one number of a million digits")
def digits(share: float) -> Attempt:
    """A .json file of one number."""
    return upload("a.json", b'{"a":' + b"1" * scaled(1_000_000, share) + b"}")


@hostile_input("XLIFF of 60,000 units")
def units(share: float) -> Attempt:
    """An .xliff file of as many units as a body holds."""
    unit = b'<trans-unit id="1"><source>a</source></trans-unit>'
    head = b'<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file source-language="en"><body>'
    return upload("a.xliff", head + unit * scaled(60_000, share) + b"</body></file></xliff>")


@hostile_input("text of 240,000 lines")
def lines(share: float) -> Attempt:
    """A text file with a letter a line."""
    return upload("a.txt", b"a\n" * scaled(240_000, share))
