"""Names in headers: short enough for file systems, with their endings, and nothing that ends a header."""

import re
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from server.api.requests.content_disposition import MAX_NAME, attachment, attachment_for_old_clients, shortened

NAMES = st.one_of(
    st.text(max_size=40),
    st.builds(
        lambda stem, length, suffix: stem[:1] * length + suffix,
        st.text(min_size=1, max_size=1),
        st.integers(150, 400),
        st.sampled_from(["", ".txt", ".de.docx", "." + "x" * 80, "."]),
    ),
)


@given(NAMES)
def test_a_name_that_is_too_long_loses_of_its_stem(name: str) -> None:
    short = shortened(name)
    assert len(short) == min(len(name), MAX_NAME)
    if len(name) <= MAX_NAME:
        assert short == name
        return
    stem, _, suffix = name.rpartition(".")
    if stem and len(suffix) < MAX_NAME // 4:
        assert short.endswith(f".{suffix}")
        assert name.startswith(short[: -len(suffix) - 1])
    else:
        assert name.startswith(short)


@given(NAMES)
def test_headers_have_the_name_and_no_more(name: str) -> None:
    for header in (attachment(name), attachment_for_old_clients(name)):
        assert header.isascii()
        assert header.isprintable()
        actual = re.fullmatch(r"attachment; (?:filename=\"([^\"\\\\]*)\"; )?filename\*=UTF-8''([\w.~%-]*)", header)
        assert actual is not None
        expected = "".join("?" if 0xD800 <= ord(item) < 0xE000 else item for item in shortened(name))
        assert unquote(actual[2]) == expected
        assert actual[1] is None or len(actual[1]) == len(shortened(name))
