"""Nothing gets its name before its content is on the disk, and names are on the disk when a call returns."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from export.compare.store import Store
from export.distil.inputs import INPUTS, Inputs, check_inputs
from export.replaced import replaced
from model import durable
from model.data.lexicon import Lexicon
from model.durable import replace_file, replace_folder, sync
from model.training.checkpoint import STATE, save_state, save_weights
from model.training.id_lists import save_id_lists
from server.corpus.output import Output, RunIdentity
from tests.disk import Disk


def write_folder(path: Path) -> None:
    with replaced(path) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "graph").write_bytes(b"graph")
        (folder / "manifest").write_bytes(b"manifest")


def write_translated_file(path: Path) -> None:
    output = Output(path, RunIdentity("hash", {}))
    output.append(["a", "b"])
    output.finish()
    output.close()


WRITERS: dict[str, Callable[[Path], None]] = {
    "artifact": write_folder,
    "weights.safetensors": lambda path: save_weights({"w": torch.ones(2)}, path),
    STATE: lambda path: save_state({"step": 1}, path.parent),
    "ids.safetensors": lambda path: save_id_lists([[1, 2], [3]], path),
    "lexicon.npz": lambda path: Lexicon(
        np.zeros((1, 1), np.int16), np.ones((1, 1), np.float16), np.zeros(1, np.int16)
    ).save(path),
    "measured.json": lambda path: Store(path).put("row", "speed", 1),
    INPUTS: lambda path: check_inputs(path.parent, Inputs("text", "name", "files", "int8", "en", "de", 4)),
    "translated.txt": write_translated_file,
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_is_there_after_a_power_cut(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(tmp_path, monkeypatch)
    WRITERS[name](tmp_path / name)
    assert disk.num_renames > 0
    assert disk.has(tmp_path / name)


@pytest.mark.parametrize("exchanges", [True, False])
def test_what_is_replaced_is_there_until_the_other_is(
    exchanges: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_folder(tmp_path / "artifact")
    disk = Disk(tmp_path, monkeypatch)
    if not exchanges:
        monkeypatch.setattr(durable, "exchange", lambda first, second: False)
    write_folder(tmp_path / "artifact")
    assert disk.num_renames == (1 if exchanges else 2)
    assert disk.has(tmp_path / "artifact")
    assert [path.name for path in tmp_path.iterdir()] == ["artifact"]


def test_the_disk_of_these_tests_finds_what_is_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(tmp_path, monkeypatch)
    new, path = tmp_path / "new", tmp_path / "path"
    new.write_text("content")
    with pytest.raises(AssertionError, match="before its content"):
        os.replace(new, path)
    sync(new)
    new.write_text("other")
    with pytest.raises(AssertionError, match="before its content"):
        os.replace(new, path)
    sync(new)
    os.replace(new, path)
    assert not disk.has(path)  # its name is not on the disk
    sync(tmp_path)
    assert disk.has(path)


def test_a_rename_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever rename fails, the old folder is at its place afterwards. File systems that exchange folders need no
    second rename."""
    monkeypatch.setattr(durable, "exchange", lambda first, second: False)
    for name in ("new", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "name").write_text(name)
    rename = os.replace

    def refuse_new(source: Path, target: Path) -> None:
        if source == tmp_path / "new":
            raise OSError("no room in the folder")
        rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", refuse_new)
        with pytest.raises(OSError, match="no room"):
            replace_folder(tmp_path / "new", tmp_path / "out")
    assert (tmp_path / "out" / "name").read_text() == "out"
    replace_folder(tmp_path / "new", tmp_path / "out")
    assert (tmp_path / "out" / "name").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    (tmp_path / "file").write_text("1")
    replace_file(tmp_path / "file", tmp_path / "out" / "name")
    assert (tmp_path / "out" / "name").read_text() == "1"


def test_only_these_functions_rename() -> None:
    """In the rooms that write models."""
    for room in ("model", "export"):
        for path in Path(room).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert path.name == "durable.py" or not any(
                call in text for call in ("os.replace(", "os.rename(", ".rename(", "temporary.replace(", "shutil.move(")
            ), f"{path} renames by itself: use model/durable.py"


KILLED = """
import os, sys
from pathlib import Path
from export.replaced import replaced
from model import durable
rename = os.replace
def killed(source, target):
    rename(source, target)
    os._exit(9)
os.replace = killed
durable.exchange = lambda first, second: False
with replaced(Path(sys.argv[1])) as folder:
    (folder / "manifest").write_bytes(b"new")
"""


def test_what_a_killed_process_moved_aside_is_put_back(tmp_path: Path) -> None:
    """Killed between two renames, when nothing has the name. Another artifact's name may begin so."""
    out, other = tmp_path / "model", tmp_path / "model-b"
    for path in (out, other):
        write_folder(path)
        run = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, cwd=Path(__file__).parents[2])
        assert run.returncode == 9
        assert not path.exists()

    class StoppedError(Exception):
        pass

    for path in (out, other):
        with pytest.raises(StoppedError), replaced(path):
            raise StoppedError
        assert (path / "manifest").read_bytes() == b"manifest"
    write_folder(out)
    assert {path.name for path in tmp_path.iterdir() if path.name.endswith("-old")} == set()
