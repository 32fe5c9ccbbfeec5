"""Names for programs in JSON and YAML stay, with a note."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.files.formats.base import FileOptions
from server.files.formats.constants import is_for_program
from server.files.formats.registry import open_file


@pytest.mark.parametrize(
    ("key", "text", "is_kept"),
    [
        ("type", "string", True),
        ("role", "user", True),
        ("className", "btn btn-primary", True),
        ("$ref", "#/components/house", True),
        ("@type", "x:House", True),
        ("@type", "a House", False),
        ("type", "Text", False),
        ("type", "a text", False),
        ("title", "house", False),
        ("id", "Ausweis", False),
    ],
)
def test_names_for_programs(key: str, text: str, is_kept: bool) -> None:
    assert is_for_program(key, text) == is_kept
    for data, name in ((json.dumps({"t": "Yes.", key: text}), "a.json"), (f't: Yes.\n"{key}": "{text}"\n', "a.yaml")):
        opened = open_file(data.encode(), name, "de", 10_000)
        assert list(opened.texts) == (["Yes."] if is_kept else ["Yes.", text])
        assert opened.notes == ([f"values that programs read were kept: {key}"] if is_kept else [])


@given(st.sampled_from(["type", "a"]), st.sampled_from(["user", "User"]), st.sampled_from(["", " ", "\n  "]))
def test_a_list_and_what_a_client_chooses_are_translated(key: str, text: str, blank: str) -> None:
    listed = open_file(f'{{"{key}":{blank}["{text}"]}}'.encode(), "a.json", "de", 10_000)
    assert list(listed.texts) == [text]
    data = f'{{"{key}"{blank}:{blank}"{text}", "b": "Yes"}}'
    chosen = open_file(data.encode(), "a.json", "de", 10_000, FileOptions(keys=key))
    assert list(chosen.texts) == [text]
    plain = open_file(data.encode(), "a.json", "de", 10_000)
    assert list(plain.texts) == (["Yes"] if (key, text) == ("type", "user") else [text, "Yes"])


def test_files_of_strings_have_no_such_names() -> None:
    opened = open_file(b"en:\n  user:\n    role: role\n", "a.yml", "de", 10_000)
    assert list(opened.texts) == ["role"]


def test_an_apostrophe_begins_no_quotation() -> None:
    opened = open_file(b"a=You see '{1}' and {0}.\nb=No.\n", "a.properties", "de", 10_000)
    assert opened.write(["You've '{1}' and {0}.", "It's."]) == b"a=You\\u2019ve '{1}' and {0}.\nb=It's.\n"
