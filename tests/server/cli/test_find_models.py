"""Artifacts in folders, their names, and the one that a command selects."""

from pathlib import Path

import pytest

from server.artifact.discovery import find_artifacts, find_models
from server.artifact.manifest import ArtifactError
from server.cli import main as cli
from tests.server.api.pairs import copy_of


def test_artifacts_anywhere_below_are_found_once_and_in_order(tiny_artifact: Path, tmp_path: Path) -> None:
    folders = [copy_of(tiny_artifact, tmp_path / name, name=name.replace("/", "-")) for name in ("b", "a/y", "a/x/z")]
    copy_of(tiny_artifact, folders[0] / "inside", name="inside")
    copy_of(tiny_artifact, tmp_path / ".hidden" / "one", name="hidden")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "c").symlink_to(folders[0])
    (tmp_path / "empty").mkdir()
    assert find_artifacts([tmp_path]) == sorted(folders)
    assert find_artifacts([folders[0], tmp_path]) == [folders[0], *sorted(folders[1:])]
    assert find_models([tmp_path]) == {"a-x-z": folders[2], "a-y": folders[1], "b": folders[0]}
    with pytest.raises(ArtifactError, match="empty holds no artifact"):
        find_artifacts([tmp_path / "empty"])
    with pytest.raises(ArtifactError, match="nothing is not a folder"):
        find_artifacts([tmp_path / "nothing"])


def test_two_models_with_one_name_are_an_error_before_the_server_starts(
    tiny_artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_of(tiny_artifact, tmp_path / "here" / "one")
    copy_of(tiny_artifact, tmp_path / "there" / "other")
    flags = [part for name in ("here", "there") for part in ("--models", str(tmp_path / name))]
    assert cli.main(["serve", *flags]) == 1
    error = capsys.readouterr().err
    assert f"two models are named 'tiny', {tmp_path}/here/one and {tmp_path}/there/other: serve one of them" in error


def test_the_error_for_an_undecodable_manifest_has_its_path(tiny_artifact: Path, tmp_path: Path) -> None:
    folder = copy_of(tiny_artifact, tmp_path / "tiny")
    (folder / "manifest.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(ArtifactError, match=r"tiny/manifest\.json is not a manifest"):
        find_models([tmp_path])


def test_an_ambiguous_pair_is_an_error(tiny_artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy_of(tiny_artifact, tmp_path / "en-de")
    copy_of(tiny_artifact, tmp_path / "de-en", name="back", source_language="de", target_language="en")
    (tmp_path / "page.txt").write_text("Yes.\n", encoding="utf-8")
    command = ["translate", "--models", str(tmp_path), "--precision", "fp32", str(tmp_path / "page.txt")]
    assert cli.main(command) == 1
    assert "there are models for de to en, en to de: say which with --source and --target" in capsys.readouterr().err
    for flags in (["--source", "de"], ["--target", "de"]):
        assert cli.main([*command, *flags]) == 0
    assert {path.name for path in tmp_path.glob("page.*")} == {"page.txt", "page.de.txt", "page.en.txt"}
    assert cli.main([*command, "--target", "fr"]) == 1
    assert "no model translates anything to fr; there is de to en, en to de" in capsys.readouterr().err
