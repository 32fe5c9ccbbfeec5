"""An import that replaces an artifact may be killed at any moment: the old or the new one is found, whole, and the next
import removes what is left."""

import os
import shutil
from pathlib import Path

import pytest

from export.replaced import remove_leftovers, replaced, unfinished
from model import durable
from model.exchange import exchange
from server.artifact.artifact import Artifact
from server.artifact.discovery import find_artifacts, find_models
from server.artifact.manifest import MANIFEST, ArtifactError, read_manifest
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.translation.translator import Translator
from tests.export.replacing import killed_before, replace
from tests.server.api.pairs import copy_of

EXCHANGES = [True, False]
"""False: as on file systems that cannot exchange two folders."""


@pytest.fixture
def versions(tiny_artifact: Path, tmp_path: Path) -> tuple[Path, Path]:
    old, new = (copy_of(tiny_artifact, tmp_path / "versions" / name, name=name) for name in ("old", "new"))
    return old, new


@pytest.fixture(params=EXCHANGES, ids=["exchange", "renames"])
def exchanges(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(durable, "exchange", lambda first, second: False)
    return bool(request.param)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_this_system_exchanges_folders(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / name).mkdir(parents=True)
    assert exchange(tmp_path / "one", tmp_path / "two")
    assert (names(tmp_path / "one"), names(tmp_path / "two")) == (["two"], ["one"])
    assert not exchange(tmp_path / "one", tmp_path / "three")
    assert (names(tmp_path), names(tmp_path / "one")) == (["one", "two"], ["two"])


def test_whenever_an_import_is_killed_the_old_or_the_new_artifact_is_served(
    exchanges: bool, versions: tuple[Path, Path], tmp_path: Path
) -> None:
    old, new = versions
    models, changes, found, loaded = tmp_path / "models", 0, list[str](), set[tuple[str, ...]]()
    while True:
        shutil.rmtree(models, ignore_errors=True)
        shutil.copytree(old, models / "model", copy_function=os.link)
        was_killed = killed_before(changes, lambda: replace(models / "model", new))
        left = tuple(name[:-8] if name.endswith("unfinished-") else name for name in names(models))
        if exchanges:
            assert (models / "model" / MANIFEST).is_file()  # at every moment
        [(name, folder)] = find_models([models]).items()
        assert folder == models / "model"
        assert Artifact.load(folder).manifest.name == name
        found.append(name)
        if left not in loaded:
            loaded.add(left)
            translator = Translator.load(folder, EngineSettings(), Metrics())
            translator.stop(timeout=1)
        replace(models / "other", old)
        assert names(models) == ["model", "other"], "the next import removes what is left"
        if not was_killed:
            break
        changes += 1
    assert found == ["old"] * found.index("new") + ["new"] * found.count("new")
    assert changes > 2 * len(names(new))  # each file is written and removed
    assert found.count("new") > len(names(old))


@pytest.mark.parametrize("where", ["folder", "artifact", "manifest"])
def test_a_start_puts_back_what_was_moved_aside(where: str, versions: tuple[Path, Path], tmp_path: Path) -> None:
    """By earlier versions, too, whose folders had other names; the newest of several."""
    models = tmp_path / "models"
    for index, aside in enumerate((".model-0a1b2c_d-old", ".model.unfinished-abcdefgh-old")):
        shutil.copytree(versions[index], models / aside)
        os.utime(models / aside, (index, index))
    (models / ".notes-abcdefgh-old").mkdir()
    found = {
        "folder": lambda: find_artifacts([models])[0],
        "artifact": lambda: find_artifacts([models / "model"])[0],
        "manifest": lambda: (read_manifest(models / "model"), models / "model")[1],
    }[where]()
    assert found == models / "model"
    assert read_manifest(found).name == "new"
    assert names(models) == [".model-0a1b2c_d-old", ".notes-abcdefgh-old", "model"]


def test_what_is_at_work_is_left_alone(versions: tuple[Path, Path], tmp_path: Path) -> None:
    models = tmp_path / "models"
    with replaced(models / "model") as new:
        aside = new.with_name(f"{new.name}-old")
        shutil.copytree(versions[0], aside)
        with pytest.raises(ArtifactError):
            find_artifacts([models])
        remove_leftovers(models)
        assert names(models) == sorted([new.name, aside.name])
        with unfinished(models / "model"):
            assert new.is_dir()
        (new / "graph").touch()
    assert (models / "model" / "graph").is_file()


def test_other_hidden_folders_are_not_removed(tmp_path: Path) -> None:
    others = (".model-training", ".model.unfinished", ".model.unfinished-abc", "model.unfinished-abcdefgh")
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / ".link.unfinished-abcdefgh").symlink_to(tmp_path / others[0])
    (tmp_path / ".model.unfinished-abcdefgh").mkdir()
    with replaced(tmp_path / "model"):
        pass
    assert names(tmp_path) == sorted([*others, "model", ".link.unfinished-abcdefgh"])


def test_a_link_stays_and_what_it_names_is_replaced(exchanges: bool, tmp_path: Path) -> None:
    (tmp_path / "disk" / "model").mkdir(parents=True)
    (tmp_path / "model").symlink_to(tmp_path / "disk" / "model")
    (tmp_path / "new").symlink_to(tmp_path / "disk" / "none")
    for link in ("model", "new"):
        with replaced(tmp_path / link) as folder:
            (folder / "graph").touch()
        assert (tmp_path / link).is_symlink()
        assert names(tmp_path / link) == ["graph"]
    assert names(tmp_path / "disk") == ["model", "none"]
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="file is a file, where a folder"), replaced(tmp_path / "file"):
        raise AssertionError


@pytest.mark.parametrize("content", [["models/manifest.json"], ["weights.safetensors"], [".hidden"]])
def test_a_folder_of_another_kind_is_not_replaced(content: list[str], tmp_path: Path) -> None:
    """Such as the folder of several models, named in place of one of them."""
    out = tmp_path / "out"
    for name in content:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("kept")
    with pytest.raises(FileExistsError, match="would be lost"), replaced(out, "manifest.json"):
        raise AssertionError
    assert [(out / name).read_text() for name in content] == ["kept"] * len(content)
    assert names(tmp_path) == ["out"]
    for other in ("empty", "artifact"):
        (tmp_path / other).mkdir()
    (tmp_path / "artifact" / "manifest.json").touch()
    for other in ("empty", "artifact", "new"):
        with replaced(tmp_path / other, "manifest.json") as folder:
            (folder / "graph").touch()
        assert names(tmp_path / other) == ["graph"]
