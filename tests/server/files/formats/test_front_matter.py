"""Front matter of Markdown files stays as it is."""

import pytest

from server.files.formats.registry import open_file


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "front",
    [
        "---\ntitle: Our new garden\ntags: [a garden, a house]\n---\n",
        "---\ntitle: Our new garden\n...\n",
        "+++\ntitle = 'Our new garden'\ndraft = true\n\n[params]\nname = 'A garden'\n+++\n",
        "---\n---\n",
        "+++\n+++\n",
    ],
)
def test_front_matter_is_not_translated(front: str, newline: str, bom: bytes) -> None:
    before = bom + front.replace("\n", newline).encode()
    body = f"{newline}We walk home.{newline}".encode()
    opened = open_file(before + body, "a.md", "de", 10_000)
    assert list(opened.texts) == ["We walk home."]
    assert opened.write(["WE WALK HOME."]) == before + body.upper()
