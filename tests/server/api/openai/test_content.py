"""What of a message is translated, and the answer that is made of it."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from server.api.openai.content import content_of
from server.api.openai.placeholders import BREAK, Placeholders
from server.api.openai.prompts import without_instructions
from tests.growth import assert_linear

LINES = st.sampled_from(["==WEBLATE_PART==", "%%", "---", "A sentence.", "", " ", "**NOTE**", "@@PH1@@ [X2X]", "a\\Nb"])
TEXTS = st.lists(LINES, max_size=6).map("\n".join)


@given(text=TEXTS)
def test_what_is_not_translated_stays(text: str) -> None:
    content = content_of(text)
    assert content.write(content.texts) == text
    assert content.literals is not None
    assert len(content.literals) == len(content.texts) + 1
    for part in content.texts:
        assert "==WEBLATE_PART==" not in part
        assert "%%" not in part.splitlines()
        assert "PH1" not in part
    marked = content.write([f"<{part}>" for part in content.texts])
    assert marked.replace("<", "").replace(">", "") == text


@settings(max_examples=30)
@given(texts=st.lists(st.text(), min_size=1, max_size=4), in_object=st.booleans())
def test_a_list_is_answered_as_a_list(texts: list[str], in_object: bool) -> None:
    content = content_of(json.dumps(texts), in_object)
    assert content.literals is None
    answer = json.loads(content.write([text.upper() for text in content.texts]))
    upper = [Placeholders(text).restore(Placeholders(text).text.upper()) for text in texts]
    assert answer == ({"translations": upper} if in_object else upper)


@settings(max_examples=30)
@given(
    value=st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_other_json_is_a_text(value: object) -> None:
    message = json.dumps(value)
    content = content_of(message)
    if content.literals is not None:
        assert content.write(content.texts) == message


def test_half_characters_make_no_list() -> None:
    content = content_of('["\\ud800"]')
    assert content.texts == ['["\\ud800"]']


@given(source=st.lists(st.sampled_from(["@@PH1@@", "[X2X]", "{P0}", "{P", BREAK, "\n", "word "])).map("".join))
def test_placeholders_come_back(source: str) -> None:
    placeholders = Placeholders(source)
    assert placeholders.restore(placeholders.text) == source
    assert "@@PH1@@" not in placeholders.text
    assert "[X2X]" not in placeholders.text


def test_messages_without_instructions_stay() -> None:
    for text in (
        "Translate this.\n\nA text.",
        "Translate it:",
        "A text:\n\nAnd more.",
        "[1]",
        "Translate:\n\n",
        "a\n\nb",
    ):
        assert without_instructions(text) == text


def test_reading_a_message_takes_linear_time() -> None:
    tokens = [
        "==", "=", "%%", "\n", "A_B", "==A==\n", "[", "]", "{", "}", '"', '"a"', ",", '{"line": "a"}', '"strings":[',
        "@@PH1@@", "@@PH", "[X1X]", "[X", "\\N", "Translate ", ":\n\n", "\nSource Text: ", "\nTranslated Text:", "{P",
        "\n\nPlease return the response as a JSON array", "\r", "<", "\t",
    ]  # fmt: skip

    def run(text: str) -> None:
        content = content_of(text)
        content.write(content.texts)

    assert_linear(run, tokens, ordinary=None)
    assert_linear(lambda text: run(f"[{text}]"), tokens, count=20, ordinary=None)
