"""Ordinary inputs of the sizes of hostile inputs, for comparison."""

import random
import time

from loadtest.hostile.attempt import Address, Answers, Attempt, hostile_input, scaled
from loadtest.hostile.inputs.archives import packed, word
from loadtest.hostile.inputs.largest import text
from loadtest.hostile.sending import post_json, upload

PAIR = {"source": "en", "target": "de"}


@hostile_input("nothing, for two seconds", ordinary=True)
def nothing(share: float) -> Attempt:
    """No input: the times of other clients without load."""

    def send(address: Address, seconds: float) -> Answers:
        time.sleep(min(2.0, seconds))
        return Answers()

    return Attempt(0, send)


@hostile_input("ordinary subtitles", ordinary=True)
def subtitles(share: float) -> Attempt:
    """Cues of a sentence each."""
    cue = "{0}\n00:{1:02}:{2:02},000 --> 00:{1:02}:{2:02},900\n{3}\n\n"
    lines = text(scaled(20_000, share)).split(". ")
    whole = "".join(cue.format(n + 1, n // 60 % 60, n % 60, line) for n, line in enumerate(lines))
    return upload("a.srt", whole.encode())


@hostile_input("ordinary text", ordinary=True)
def plain(share: float) -> Attempt:
    """Sentences as they come."""
    return post_json("/v1/translate", {"text": text(scaled(24_000, share)), **PAIR})


@hostile_input("ordinary HTML", ordinary=True)
def html(share: float) -> Attempt:
    """Paragraphs with some words in bold, to LibreTranslate's API."""
    lines = text(scaled(20_000, share)).split(". ")
    page = "".join(f"<p>{line[:8]}<b>{line[8:12]}</b>{line[12:]}.</p>" for line in lines)
    return post_json("/translate", {"q": page, "source": "en", "target": "de", "format": "html"})


@hostile_input("ordinary Word file", ordinary=True)
def document(share: float) -> Attempt:
    """Some pages of text and a picture."""
    lines = text(scaled(12_000, share)).split(". ")
    body = "".join(f"<w:p><w:r><w:t>{line}.</w:t></w:r></w:p>" for line in lines)
    picture = random.Random(1).randbytes(scaled(190_000, share))
    return upload("a.docx", word(body, **{"word/media/image1.png": picture}))


@hostile_input("ordinary PowerPoint file of 20 slides", ordinary=True)
def presentation(share: float) -> Attempt:
    """A sentence for each of five shapes of a slide."""
    space = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    drawing = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    shape = "<p:sp><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></p:sp>"
    lines = text(scaled(6_000, share)).split(". ")
    slides = {}
    for number in range(0, len(lines), 5):
        inner = "".join(map(shape.format, lines[number : number + 5]))
        slide = f"<p:sld {space} {drawing}><p:cSld><p:spTree>{inner}</p:spTree></p:cSld></p:sld>"
        slides[f"ppt/slides/slide{number // 5 + 1}.xml"] = slide.encode()
    return upload("a.pptx", packed({"ppt/presentation.xml": f"<p:presentation {space}/>".encode()} | slides))


@hostile_input("ordinary CSV", ordinary=True)
def csv(share: float) -> Attempt:
    """A column of sentences beside one of numbers."""
    lines = text(scaled(20_000, share)).split(". ")
    return upload("a.csv", "".join(f"{n},{line}\n" for n, line in enumerate(lines)).encode())


@hostile_input("ordinary Markdown", ordinary=True)
def markdown(share: float) -> Attempt:
    """Headings, lists, links."""
    lines = text(scaled(20_000, share)).split(". ")
    shapes = ("# {}\n\n", "- {}\n", "\n{} with a [link](http://example.org).\n\n")
    return upload("a.md", "".join(shapes[n % 3].format(line) for n, line in enumerate(lines)).encode())


@hostile_input("ordinary glossary of 50 terms", ordinary=True)
def glossary(share: float) -> Attempt:
    """A text of 20 kB with terms."""
    terms = {f"word{number}": f"Wort{number}" for number in range(50)}
    return post_json("/v1/translate", {"text": text(scaled(20_000, share)), **PAIR, "glossary": terms})
