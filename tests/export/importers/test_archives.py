"""Packed models of every kind, damaged ones, and ones that unpack to too much or elsewhere."""

import contextlib
import gzip
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import types
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.importers import ImportRefused, zstd
from export.importers.archives import MIN_UNPACKED_BYTES, is_packed, unpack
from export.importers.local_path import local_path
from export.importers.zstd import MODULES

FILES = {"model/a.bin": b"weights", "model/vocab.spm": b"words", "model/deep/er/b": b""}


def zipped(path: Path, files: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def tarred(mode: Literal["w", "w:gz", "w:bz2", "w:xz"]) -> Callable[[Path, Mapping[str, bytes]], None]:
    def write(path: Path, files: Mapping[str, bytes]) -> None:
        with tarfile.open(path, mode) as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))

    return write


WAYS: dict[str, Callable[[Path, Mapping[str, bytes]], None]] = {
    "a.zip": zipped,
    "a.tar": tarred("w"),
    "a.tar.gz": tarred("w:gz"),
    "a.TGZ": tarred("w:gz"),
    "a.tar.bz2": tarred("w:bz2"),
    "a.tar.xz": tarred("w:xz"),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", WAYS)
def test_an_archive_is_the_folder_in_it(name: str, tmp_path: Path) -> None:
    WAYS[name](tmp_path / name, FILES)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    folder = local_path([str(tmp_path / name)], scratch)
    assert folder.name == "model"
    assert contents(folder) == {name.removeprefix("model/"): data for name, data in FILES.items()}


def test_a_single_packed_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "model.bin.gz").write_bytes(gzip.compress(b"weights"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = local_path([str(tmp_path / "model.bin.gz")], scratch)
    assert (path.name, path.read_bytes()) == ("model.bin", b"weights")
    assert local_path([str(tmp_path)], scratch) == tmp_path
    assert not is_packed(tmp_path / "en_de.argosmodel")


@pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd packs the file")
@pytest.mark.parametrize("module", [None, "zstandard"])
def test_what_zstandard_packed_is_read_by_a_package_or_the_program(
    module: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.bin").write_bytes(b"weights" * 1000)
    subprocess.run(["zstd", "-q", "--rm", tmp_path / "model.bin"], check=True)
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, None)
    if module is not None:  # no package is in this environment: the one here runs the program
        there = types.ModuleType(module)
        there.__dict__["open"] = lambda path, mode: io.BytesIO(subprocess.check_output(["zstd", "-dcq", path]))
        monkeypatch.setitem(sys.modules, module, there)
        monkeypatch.setattr(zstd, "PROGRAM", "none")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    path = local_path([str(tmp_path / "model.bin.zst")], scratch)
    assert (path.name, path.read_bytes()) == ("model.bin", b"weights" * 1000)


def test_zstandard_is_refused_where_nothing_reads_it_and_where_it_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.zst").write_bytes(b"no Zstandard")
    with pytest.raises(ImportRefused, match="is damaged, or not packed"):
        unpack(tmp_path / "a.zst", tmp_path / "out")
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(zstd, "PROGRAM", "none")
    with pytest.raises(ImportRefused, match="install the package zstandard or the program"):
        unpack(tmp_path / "a.zst", tmp_path / "other")


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("part", ["../evil", "a/../../evil", "/tmp/evil", "a\\..\\evil"])
def test_nothing_is_written_elsewhere(name: str, part: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    WAYS[name](tmp_path / name, {"good": b"1", part: b"evil"})
    with pytest.raises(ImportRefused, match="would be outside of the folder"):
        unpack(tmp_path / name, inner)
    assert contents(tmp_path).keys() == {name, "inner/good"}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(kind: bytes, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(ImportRefused, match="link is no file but a link or a device"):
        unpack(tmp_path / "a.tar", tmp_path / "out")


@pytest.mark.parametrize("name", [*WAYS, "a.bin.gz", "a.bin.zst"])
def test_what_unpacks_to_too_much_is_refused_on_the_way(name: str, tmp_path: Path) -> None:
    much = bytes(MIN_UNPACKED_BYTES // 2)
    if name in WAYS:
        WAYS[name](tmp_path / name, {"a": much, "b": much, "c": b"more"})
    elif name.endswith(".zst"):
        if shutil.which("zstd") is None:
            pytest.skip("the program zstd packs the file")
        packed = subprocess.run(["zstd", "-qc"], input=much * 2 + b"more", check=True, capture_output=True).stdout
        (tmp_path / name).write_bytes(packed)
    else:
        (tmp_path / name).write_bytes(gzip.compress(much * 2 + b"more"))
    if name == "a.tar":
        unpack(tmp_path / name, tmp_path / "out")  # it is as large itself
        return
    with pytest.raises(ImportRefused, match="unpacks to more than 20 times its size"):
        unpack(tmp_path / name, tmp_path / "out")
    assert sum(map(len, contents(tmp_path / "out").values())) <= MIN_UNPACKED_BYTES


def test_files_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("export.importers.archives.MAX_FILES", 5)
    zipped(tmp_path / "a.zip", {str(number): b"" for number in range(6)})
    with pytest.raises(ImportRefused, match="more than 5 files"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_a_file_that_an_archive_has_twice_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("same"))
    with pytest.raises(ImportRefused, match=r"has a file twice \(same\)"):
        unpack(tmp_path / "a.tar", tmp_path / "out")


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.bin.gz").write_bytes(gzip.compress(b"new"))
    (tmp_path / "a.bin").write_bytes(b"old")
    with pytest.raises(ImportRefused, match=r"has a file twice \(a.bin\)"):
        unpack(tmp_path / "a.bin.gz", tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == b"old"


PACKED = {}
for name, write in WAYS.items():
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name, FILES)
        PACKED[name] = (Path(folder) / name).read_bytes()
PACKED["a.gz"] = gzip.compress(b"weights")


@given(st.sampled_from(sorted(PACKED)), st.data())
def test_damaged_archives_are_read_or_refused(name: str, data: st.DataObject) -> None:
    packed = bytearray(PACKED[name])
    del packed[data.draw(st.integers(0, len(packed))) :]
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), max_size=3)):
        if packed:
            packed[at % len(packed)] = value
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(packed)
        out = Path(folder) / "out"
        out.mkdir()
        with contextlib.suppress(ImportRefused):
            unpack(Path(folder) / name, out)
        assert contents(Path(folder)).keys() - {name} == {f"out/{each}" for each in contents(out)}
