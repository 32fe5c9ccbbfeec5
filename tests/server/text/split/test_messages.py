"""Arguments of messages, compared with another parser of ICU MessageFormat."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.text.split.messages import MAX_DEPTH, find_arguments
from server.text.split.sentences import split_text

WORDS = st.lists(
    st.sampled_from(["The cat sleeps.", " ", "a dog", "{name}", "{ d , date , short }", "''", "'{'", "it's", "# "]),
    min_size=1,
    max_size=3,
).map("".join)
KEYWORDS = {"plural": ["=0", "one", "few"], "selectordinal": ["one", "two"], "select": ["male", "a-b"]}


@st.composite
def messages(draw: st.DrawFn, depth: int = 0) -> str:
    parts = [draw(WORDS)]
    for _ in range(draw(st.integers(0 if depth else 1, 2 if depth < 2 else 0))):
        kind = draw(st.sampled_from(list(KEYWORDS)))
        space = draw(st.sampled_from(["", " ", "\n  "]))
        offset = draw(st.sampled_from(["", "offset:1 "])) if kind == "plural" else ""
        chosen = [*draw(st.lists(st.sampled_from(KEYWORDS[kind]), unique=True)), "other"]
        branches = space.join(f"{name} {{{draw(messages(depth + 1))}}}" for name in chosen)
        parts += (f"{{{space}n,{space}{kind}, {offset}{branches}{space}}}", draw(WORDS))
    return "".join(parts)


def texts_of(nodes: list[Any], is_outside: bool) -> list[str]:
    """The texts of a parsed message, with other arguments as their names, round and inside of those that choose."""
    texts = [""]
    for node in nodes:
        if isinstance(node, str):
            texts[-1] += node
        elif "options" in node:
            for branch in node["options"].values():
                texts += texts_of(branch, is_outside=False)
            texts.append("")
        else:
            texts[-1] += "#" if node.get("hash") else f"<{node['name']}>"
    return texts[1:-1] if is_outside and len(texts) > 1 else texts


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages())
def test_texts_of_messages_are_those_of_the_other_parser(message: str) -> None:
    parser = pytest.importorskip("pyicumessageformat").Parser()
    expected: list[str] = []
    for node in parser.parse(message):
        if isinstance(node, dict) and "options" in node:
            for branch in node["options"].values():
                expected += texts_of(branch, is_outside=False)
    actual = [message[start:end] for argument in find_arguments(message) for start, end in argument.texts]
    assert [read(parser, text) for text in actual] == expected


def read(parser: Any, text: str) -> str:
    """A text without arguments that choose, as the other parser reads it."""
    return "".join(texts_of(parser.parse(text), is_outside=False))


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages())
def test_syntax_is_in_gaps(message: str) -> None:
    """Whatever a model makes of the texts, the message has the same arguments in the same order."""
    translated = "".join("Wort" if segment.is_sentence else segment.text for segment in split_text(message, "en"))
    names = [[message[a:b] for a, b in gaps(argument)] for argument in find_arguments(message)]
    assert names == [[translated[a:b] for a, b in gaps(argument)] for argument in find_arguments(translated)]


def gaps(argument: Any) -> list[tuple[int, int]]:
    ends = [argument.start, *(end for _, end in argument.texts)]
    starts = [*(start for start, _ in argument.texts), argument.end]
    return list(zip(ends, starts, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "{n, plural, one {a} other {b}", "{n, plural, one a}", "{n, plural, }", "{n, plural, one {a} {b}}",
        "{n, select, a {'{b}", "{n, plurals, one {a}}", "{n, choice, no text}", "{, plural, one {a}}",
        "{n,select,a{" * (MAX_DEPTH + 1) + "}}" * (MAX_DEPTH + 1),
    ],
)  # fmt: skip
def test_what_does_not_follow_the_grammar_is_text(text: str) -> None:
    result = list(find_arguments(text))
    assert all(argument.start > 0 for argument in result)


def test_choices() -> None:
    text = "There {0,choice,0#are no files|1#is one file|1<are {0,number,integer} files}."
    [argument] = find_arguments(text)
    assert [text[start:end] for start, end in argument.texts] == [
        "are no files", "is one file", "are {0,number,integer} files",
    ]  # fmt: skip


def test_the_number_sign_is_no_bullet() -> None:
    text = "{n, plural, one {# day left} other {# days left}}"
    assert [segment.text for segment in split_text(text, "en") if segment.is_sentence] == ["# day left", "# days left"]
