"""The largest permitted inputs. The client disconnects, or deletes the document, at its timeout."""

from loadtest.hostile.attempt import Attempt, hostile_input, scaled
from loadtest.hostile.sending import document, post_json, upload
from loadtest.open_loop import SENTENCES

PAIR = {"source": "en", "target": "de"}
TOTAL = 500_000
"""Characters of one request."""


def sentence(number: int) -> str:
    """One of about 150 characters, different from those before: as many as a request may have fill its characters."""
    parts = (SENTENCES[(4 * number + scaled) % len(SENTENCES)].rstrip(".?!") for scaled in range(4))
    return f"{', '.join(parts)}, {number} times."


def text(characters: int) -> str:
    made, length, number = list[str](), 0, 0
    while length < characters:
        made.append(sentence(number))
        length += len(made[-1]) + 1
        number += 1
    return " ".join(made)[:characters]


def words(number: int, count: int) -> str:
    """A sentence of so many words, different from those before."""
    return " ".join(sentence(number + further) for further in range(count // 20)).replace(".", ",")


def texts(share: float, count: int = 5) -> list[str]:
    whole = text(scaled(TOTAL, share))
    size = len(whole) // count
    return [whole[number * size : (number + 1) * size] for number in range(count)]


@hostile_input("largest translation")
def translation(share: float) -> Attempt:
    """500,000 characters in five texts."""
    return post_json("/v1/translate", {"text": texts(share), **PAIR})


@hostile_input("largest translation, as a stream")
def stream(share: float) -> Attempt:
    """The same, answered while it is decoded."""
    return post_json("/v1/translate", {"text": texts(share), **PAIR, "stream": True})


@hostile_input("largest alignment")
def alignment(share: float) -> Attempt:
    """The same with words aligned."""
    return post_json("/v1/translate", {"text": texts(share), **PAIR, "alignment": True})


@hostile_input("largest score request")
def score(share: float) -> Attempt:
    """As many sentences and translations as fit, as long as the model reads them."""
    items = [{"source": words(number, 150), "target": words(number, 150)} for number in range(scaled(256, share))]
    return post_json("/v1/score", {"items": items, **PAIR, "tokens": True})


@hostile_input("a sentence to score with 250 translations")
def one_score(share: float) -> Attempt:
    """One sentence, and long translations to choose from."""
    item = {"source": words(0, 150), "target": [words(number, 150) for number in range(scaled(250, share))]}
    return post_json("/v1/score", {"items": [item], **PAIR})


@hostile_input("largest document")
def whole_document(share: float) -> Attempt:
    """2,000 sentences of 150 characters."""
    return document({"sentences": [sentence(number) for number in range(scaled(2_000, share))], **PAIR})


@hostile_input("document of one long text")
def long_text(share: float) -> Attempt:
    """A document that the server cuts."""
    return document({"text": text(scaled(100_000, share)), **PAIR})


@hostile_input("largest file")
def file(share: float) -> Attempt:
    """500,000 characters as a text file."""
    return upload("a.txt", text(scaled(TOTAL - 10, share)).encode())


@hostile_input("widest beam")
def beam(share: float) -> Attempt:
    """256 texts with all hypotheses of the widest beam."""
    sentence = text(200)
    fields = {"beam_size": 8, "num_hypotheses": 8, "alignment": True, "pieces": True}
    return post_json("/v1/translate", {"text": [sentence] * scaled(256, share), **PAIR, **fields})


@hostile_input("context of 250,000 characters")
def context(share: float) -> Attempt:
    """A short text after a very long one."""
    return post_json("/v1/translate", {"text": "Yes.", **PAIR, "context": texts(share / 2)})


@hostile_input("which language are 500,000 characters?")
def detection(share: float) -> Attempt:
    """Long texts whose language is to be found."""
    return post_json("/translate", {"q": texts(share), "source": "auto", "target": "de"})
