"""Texts that are hard to split, to protect, or to search for terms."""

import itertools
import json
import time

from loadtest.hostile.attempt import Address, Answers, Attempt, hostile_input, scaled
from loadtest.hostile.sending import post_json, send_request

PAIR = {"source": "en", "target": "de"}
LETTERS = "XQZKJVWY"


def native(text: object, **fields: object) -> Attempt:
    return post_json("/v1/translate", {"text": text, **PAIR, **fields})


def every_stem(share: float) -> str:
    """Each of the 584 words of up to three letters that could stand for something protected, with a number."""
    words = ["".join(word) for length in (1, 2, 3) for word in itertools.product(LETTERS, repeat=length)]
    return " ".join(f"{word}1" for word in words[: scaled(len(words), share)])


@hostile_input("a sentence with all stems of masks")
def stems(share: float) -> Attempt:
    """X1 Q1 Z1 ..., twenty times, each with an address that has to be protected."""
    return native([every_stem(share) + " http://a.b/ {0} %s."] * scaled(20, share), beam_size=1, max_length=8)


@hostile_input("200,000 characters of zeros and letters")
def zeros(share: float) -> Attempt:
    """`\\x00a`, again and again."""
    return native(["\x00a" * scaled(50_000, share)] * 2, beam_size=1, max_length=8)


@hostile_input("200,000 letters")
def letters(share: float) -> Attempt:
    """`a`, again and again."""
    return native(["a" * scaled(100_000, share)] * 2, beam_size=1, max_length=8)


@hostile_input("one sentence of 100,000 characters without spaces")
def endless_word(share: float) -> Attempt:
    """Words that are joined by full stops and hyphens."""
    return native("a.b-c" * scaled(20_000, share), beam_size=1, max_length=8)


@hostile_input("one sentence of 100,000 characters")
def endless_sentence(share: float) -> Attempt:
    """Words without an end of the sentence."""
    return native("word " * scaled(20_000, share), beam_size=1, max_length=8)


@hostile_input("100,000 line breaks")
def breaks(share: float) -> Attempt:
    """Nothing but ends of lines of all kinds."""
    return native("\r\n\n\r \u2028" * scaled(16_000, share))


@hostile_input("100,000 brackets and marks")
def brackets(share: float) -> Attempt:
    """Placeholders that begin and do not end."""
    return native("{{%(<${`a" * scaled(11_000, share), beam_size=1, max_length=8)


@hostile_input("100,000 characters of addresses")
def addresses(share: float) -> Attempt:
    """Pieces of URLs and of addresses of e-mail."""
    return native("a.b@c://www." * scaled(8_300, share), beam_size=1, max_length=8)


@hostile_input("combining characters")
def combining(share: float) -> Attempt:
    """A letter with 100,000 accents."""
    return native("e" + "\u0301\u0327" * scaled(49_999, share), beam_size=1, max_length=8)


def terms(share: float) -> dict[str, str]:
    """Terms that all begin with the same word."""
    return {f"a b{number}": f"c{number}" for number in range(scaled(5_000, share))}


@hostile_input("glossary of 5,000 terms with one beginning")
def glossary(share: float) -> Attempt:
    """5,000 terms "a b1", "a b2", ... against 20,000 words "a"."""
    return native("a " * scaled(20_000, share), glossary=terms(share), beam_size=1, max_length=8)


@hostile_input("5,000 words to keep")
def keep(share: float) -> Attempt:
    """The same as words that stay, each longer than the one before."""
    kept = ["a " * (number % 240) + f"b{number}" for number in range(scaled(5_000, share))]
    return native("a " * scaled(20_000, share), keep=kept, beam_size=1, max_length=8)


@hostile_input("glossary of 5,000 terms, DeepL's API")
def glossary_deepl(share: float) -> Attempt:
    """The same glossary, kept by DeepL's API, and the same words."""
    tsv = "\n".join(f"{term}\t{translation}" for term, translation in terms(share).items())
    pair = {"source_lang": "en", "target_lang": "de"}
    new = json.dumps({"name": "a", **pair, "entries": tsv, "entries_format": "tsv"}).encode()
    text = "a " * scaled(20_000, share)
    kind = {"Content-Type": "application/json"}

    def send(address: Address, seconds: float) -> Answers:
        give_up = time.monotonic() + seconds
        made = send_request(address, seconds, "POST", "/v2/glossaries", new, kind)
        if made.status != 201:
            return Answers.of(made.label)
        name = made.json()["glossary_id"]
        body = {"text": [text], "source_lang": "EN", "target_lang": "DE", "glossary_id": name}
        left = max(0.1, give_up - time.monotonic())
        done = send_request(address, left, "POST", "/v2/translate", json.dumps(body).encode(), kind)
        gone = send_request(address, 5, "DELETE", f"/v2/glossaries/{name}")
        return Answers.of(made.label, done.label, gone.label)

    return Attempt(len(new) + len(text), send)


@hostile_input("prefixes of 100,000 characters")
def prefix(share: float) -> Attempt:
    """A short text whose translation is to begin with a very long one."""
    return native("Yes.", target_prefix="ab " * scaled(33_000, share))
