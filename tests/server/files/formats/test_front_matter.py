"""Of front matter, what a page shows is translated; every other byte stays."""

import json
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.base import FileError
from server.files.formats.registry import open_file
from tests.growth import Shape, assert_linear, check_growth

YAML = """---
title: Our new garden # the title
layout: post
tags: [a garden, a house]
hero:
  name: Garden Tools
  text: "Everything \\"grows\\""
  actions:
    - text: Get started
      link: /a/garden
cover:
  alt: 'It''s a rose'
description: >-
  All that grows
  in our garden
draft: true
...
"""
TOML = """+++
title = 'Our new garden'  # the title
draft = true
tags = ["a garden", 'a house']
description = \"\"\"
All that "grows"
in our garden.\"\"\"

[params]
name = "A garden"
cover = { image = "rose.png", alt = "A \\u201crose\\u201d" }
[[params.features]]
title = "Every day"
link-text = 'See "more"'
+++
"""
LINES = """Title: Our new garden
Author: Jane Doe
Meta Description: All that grows
tags: a garden
    a house

"""
JSON = """{
  "title": "Our new garden",
  "tags": ["a garden"],
  "cover": {"alt": "A rose", "image": "a rose.png"}
}
"""


def read_lines(text: str) -> dict[str, str]:
    return dict(line.split(": ") for line in text.splitlines() if line[:1].isalpha())


READ: dict[str, Callable[[str], Any]] = {
    YAML: lambda text: yaml.safe_load(text[4 : text.rindex("...")]),
    TOML: lambda text: tomllib.loads(text.replace("+++", "")),
    JSON: json.loads,
    LINES: read_lines,
}
SHOWN = {
    YAML: ["Our new garden", 'Everything "grows"', "Get started", "It's a rose", "All that grows in our garden"],
    TOML: ["Our new garden", 'All that "grows"\nin our garden.', "A \u201crose\u201d", "Every day", 'See "more"'],
    JSON: ["Our new garden", "A rose"],
    LINES: ["Our new garden", "All that grows"],
}
BODY = "\nWe walk home.\n"


def translated(file: str, name: str, translate: Callable[[str], str], data: bytes | None = None) -> str:
    opened = open_file(file.encode() if data is None else data, name, "de", 100_000)
    return opened.write([translate(text) for text in opened.texts]).decode()


def with_shown(front: str, parsed: object, translate: Callable[[str], str]) -> object:
    """The settings with translations of what is shown."""
    if isinstance(parsed, dict):
        return {key: with_shown(front, value, translate) for key, value in parsed.items()}
    if isinstance(parsed, list):
        return [with_shown(front, value, translate) for value in parsed]
    return translate(parsed) if parsed in SHOWN[front] and isinstance(parsed, str) else parsed


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["a.md", "a.html", "a.mdx"])
@pytest.mark.parametrize("front", SHOWN, ids=["YAML", "TOML", "JSON", "lines"])
def test_what_a_page_shows_is_translated(front: str, name: str, newline: str, bom: str) -> None:
    if front == LINES and name == "a.html":
        pytest.skip("pages have no such lines")
    file = (bom + front + BODY).replace("\n", newline)
    opened = open_file(file.encode(), name, "de", 10_000)
    assert list(opened.texts) == [*SHOWN[front], "We walk home."]
    assert opened.write(opened.texts).decode() == file
    written = opened.write([text.upper() for text in opened.texts]).decode()
    assert written.endswith(BODY.upper().replace("\n", newline))
    assert written.startswith(bom)
    assert written.count("\r\n") == (written.count("\n") if newline == "\r\n" else 0)
    settings = written.removeprefix(bom).replace("\r\n", "\n").removesuffix(BODY.upper())
    assert READ[front](settings) == with_shown(front, READ[front](front), str.upper)


@given(st.sampled_from([YAML, TOML, JSON]), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_translation_is_read_again(front: str, translation: str) -> None:
    def translate(text: str) -> str:
        return f"a {translation} z" if text in SHOWN[front] else text

    written = translated(front + BODY, "a.md", translate)
    settings = written.removesuffix(BODY)
    expected = with_shown(front, READ[front](front), translate)
    if front == YAML:
        assert yaml.safe_load(settings[4 : settings.rindex("...")]) == expected
    elif "\r" not in translation:  # TOML's own reader takes no lone carriage return
        assert READ[front](settings) == expected


@pytest.mark.parametrize(
    ("front", "note"),
    [
        (YAML, "2 values"),
        ("---\ntitle: A garden\nslug: a rose\n---\n", "one value"),
        (TOML, "2 values"),
        ("---\ntitle: A: b\n---\n", "could not be read"),
        ('+++\ntitle = A \n="\n+++\n', "could not be read"),
        ("---\ntitle: A garden\nauthor: Jane Doe\n---\n", ""),
        ("---\n---\n", ""),
        ("+++\n+++\n", ""),
    ],
)
def test_what_stays_is_noted(front: str, note: str) -> None:
    [*notes] = open_file((front + BODY).encode(), "a.md", "de", 10_000).notes
    assert bool(notes) == bool(note)
    assert all(note in each for each in notes)


@pytest.mark.parametrize("lines", ["We walk home.", "- One house\n- Two houses"])
def test_text_between_two_rules_is_no_front_matter(lines: str) -> None:
    written = translated(f"---\n{lines}\n\n---\n{BODY}", "a.md", str.upper)
    assert written == f"---\n{lines.upper()}\n\n---\n{BODY.upper()}"


def test_braces_are_no_front_matter() -> None:
    assert translated("{\na note\n}\n", "a.md", str.upper).split() == ["{", "A", "NOTE", "}"]


@pytest.mark.parametrize("fence", ["---", "+++", "{"])
def test_front_matter_takes_linear_time(fence: str) -> None:
    tokens = (
        "title: ", "title = ", '"', "'", '"""', "'''", "a", " ", "\n", "\n  ", "- ", "[", "]", "{", "}", ",", "=", ".",
        "#", "\\", "---\n", "+++\n", '"a": ', "|\n", "&a ", "[a]\n", "[[a.b]]\n", "\n}\n", "title: a\n", "title='a'\n",
    )  # fmt: skip
    end = "}" if fence == "{" else fence

    def run(text: str) -> None:
        file = f"{fence}\n{text}\n{end}\n"
        try:
            opened = open_file(f"{file}a\n".encode(), "a.md", "de", 10_000_000)
        except FileError:
            return
        opened.write([f"{text} b" for text in opened.texts])

    assert_linear(run, tokens, ordinary=None)
    check_growth(run, Shape(('title = "a b"\n', "title: a b\n"), "shuffled"))
