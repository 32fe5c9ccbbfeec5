"""The folder of a server's processes, beside those of other servers."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.runtime.processes.worker_process import shared_folder


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_folders_of_killed_servers_are_removed_and_others_stay(root: Path) -> None:
    with shared_folder() as running:
        left = root / "ringmt-processes-left"
        left.mkdir()
        (left / "lock").touch()
        with shared_folder() as folder:
            assert {each.name for each in root.iterdir()} == {running.name, folder.name}
    assert not [*root.iterdir()]


def test_a_server_starts_while_another_one_removes_its_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that was listed is gone when it is looked at."""
    gone = root / "ringmt-processes-gone"

    def listed(folder: Path, pattern: str) -> Iterator[Path]:
        yield gone
        yield from map(folder.joinpath, os.listdir(folder))

    monkeypatch.setattr(Path, "glob", listed)
    with shared_folder() as folder:
        assert folder.is_dir()
    assert not gone.exists()
