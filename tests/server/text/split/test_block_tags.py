"""Tags of blocks at the ends of a sentence are no part of it; conditions of templates keep their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.text.base.placeholders import PlaceholderText, is_placeholder, split_at_placeholders
from server.text.spans.template_tags import add_templates
from server.text.split.sentences import split_text
from tests.growth import assert_linear

PLAIN = "First paragraph."


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (f"<p>{PLAIN}</p>", [PLAIN]),
        (f"<p class='a b'>{PLAIN}</p>\n\n<p>Second one.</p>", [PLAIN, "Second one."]),
        ("<ul><li>One tree</li></ul>", ["One tree"]),
        ("<br/>Yes.<br>", ["Yes."]),
        ("<b>Yes</b> we walk.", ["<b>Yes</b> we walk."]),
        ("a <p b", ["a <p b"]),
    ],
)
def test_a_sentence_is_what_they_enclose(text: str, sentences: list[str]) -> None:
    segments = split_text(text, "en")
    assert "".join(segment.text for segment in segments) == text
    assert [segment.text for segment in segments if segment.is_sentence] == sentences


def test_it_takes_linear_time() -> None:
    tokens = ("<p>", "</p>", "<p ", "<", ">", "<br>", "a", " ", "word ", ". ", "{% if %}", "</li>")
    assert_linear(lambda text: split_text(text, "en"), tokens, ordinary=None)


@given(st.permutations(range(4)), st.integers(0, 4))
def test_conditions_stay_in_order(order: list[int], count: int) -> None:
    """Wherever the model puts them; values change places."""
    read = PlaceholderText()
    source = "a {% if x %} b {% elif y %} c {{ v }} d {% else %} e {% endif %}"
    add_templates(read, source, read.add_text)
    assert read.render(read.text, str) == source
    places = [part for part in split_at_placeholders(read.text) if is_placeholder(part)]
    conditions = [part for part in places if read.raw[part].startswith("{%")]
    value = next(part for part in places if part not in conditions)
    written = read.render(" ".join([value, *(conditions[at] for at in order[:count])]), str)
    kept = [read.raw[part] for part in conditions if part in {conditions[at] for at in order[:count]}]
    assert written.split(" {%") == ["{{ v }}", *(raw.removeprefix("{%") for raw in kept)]
