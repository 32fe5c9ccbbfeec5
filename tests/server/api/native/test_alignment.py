"""`alignment` of `POST /v1/translate`."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.server.api.conftest import RunningServer, ready, settings_for
from tests.server.api.native.test_stream import stream
from tests.server.api.native.test_target_prefix import translated
from tests.server.api.native.test_translate import error_of

TEXT = "  We walk home in the rain.\n\nWhere is https://example.org/a? {name} reads a book.\n"


def check(text: str, translation: dict[str, Any]) -> set[tuple[str, str]]:
    """Every place is one of a word: no letter goes on before or behind it. Returns the words."""
    result = set()
    for pair in translation["alignment"]:
        for whole, (start, end) in ((text, pair["source"]), (translation["text"], pair["target"])):
            assert 0 <= start < end <= len(whole)
            assert not (whole[start - 1 : start].isalnum() or whole[end : end + 1].isalnum()) or start == 0
        result.add((text[slice(*pair["source"])], translation["text"][slice(*pair["target"])]))
    return result


def test_words_are_paired_if_requested(server: RunningServer) -> None:
    first, empty = translated(server, [TEXT, ""], alignment=True)
    pairs = check(TEXT, first)
    assert {("https://example.org/a", "https://example.org/a"), ("{name}", "{name}")} <= pairs
    assert empty["alignment"] == []
    [plain] = translated(server, TEXT)
    assert plain == {key: value for key, value in first.items() if key != "alignment"}


def test_alignment_with_every_other_option(server: RunningServer) -> None:
    fields = {"alignment": True, "num_hypotheses": 3, "keep": ["book"], "context": "It rained."}
    [result] = translated(server, TEXT, **fields)
    assert ("book", "book") in check(TEXT, result)
    [begun] = translated(server, TEXT, alignment=True, target_prefix="Wir gehen")
    check(TEXT, begun)
    assert begun["text"].startswith("  Wir gehen")


def test_a_stream_ends_with_it(server: RunningServer) -> None:
    *_, (name, answer) = stream(server, alignment=True)
    assert name == "answer"
    assert answer["translations"][0]["alignment"]


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_it_is_true_or_false(server: RunningServer, value: object) -> None:
    assert error_of(server.translate("Yes.", alignment=value), 422)["param"] == "alignment"


def test_two_models_do_not_align(many: RunningServer) -> None:
    response = many.translate("Wo ist es?", source="de", target="fr", alignment=True)
    assert "alignment: not where two models translate" in error_of(response, 422)["message"]


def test_an_artifact_without_the_graph_says_what_to_do(tiny_artifact: Path, tmp_path: Path) -> None:
    """One that was exported before there were align graphs."""
    artifact = Path(shutil.copytree(tiny_artifact, tmp_path / "old"))
    manifest = json.loads((artifact / "manifest.json").read_text(encoding="utf-8"))
    for graph in manifest["graphs"]:
        if file := graph.pop("align"):
            (artifact / file).unlink()
            del manifest["files"][file], manifest["signatures"][file]
    del manifest["alignment"]
    (artifact / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with ready(settings_for(artifact)) as server:
        error = error_of(server.translate("Yes.", alignment=True), 422)
        assert error["param"] == "alignment"
        assert "repeat `ringmt export` with its checkpoint" in error["message"]
        assert "alignment" not in translated(server, "Yes.")[0]
