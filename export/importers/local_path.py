"""The path on this machine of what a command names: a path, a packed file, or addresses."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from export.importers import ImportRefused
from export.importers.archives import innermost, is_packed, plain_name, unpack
from export.importers.download import Address, download, is_address


def local_path(named: Sequence[str], scratch: Path) -> Path:
    """One path, or a folder in `scratch` with the files of all addresses; what is packed is unpacked there. Raises
    ImportRefused."""
    if not any(map(is_address, named)):
        if len(named) > 1:
            raise ImportRefused(f"one path is imported at a time, not {len(named)}")
        path = Path(named[0])
        return _unpacked(path, scratch / path.name) if path.is_file() and is_packed(path) else path
    if not all(map(is_address, named)):
        raise ImportRefused("addresses and paths of this machine cannot be one model: give the one or the other")
    folder = scratch / "downloaded"
    folder.mkdir()
    addresses = [Address.parse(text) for text in named]
    paths = [download(address, folder) for address in addresses]
    if len(paths) == 1:
        return _unpacked(paths[0], scratch / paths[0].name) if is_packed(paths[0]) else paths[0]
    for path in paths:
        if is_packed(path):
            unpack(path, folder)
            path.unlink()
    return folder


PARTS = (".bin", ".npz", ".spm", ".yml")
"""Ends of names of a model's files, each of which may be packed alone, as Mozilla distributes them."""


def whole_folder(folder: Path, scratch: Path) -> Path:
    """A folder, or, where files of it are packed one by one, a folder with these unpacked and links to the others."""
    files = {path.name: path for path in sorted(folder.iterdir()) if path.is_file()}
    packed = {plain_name(name): path for name, path in reversed(files.items()) if plain_name(name) != name}
    packed = {name: path for name, path in packed.items() if name not in files and name.lower().endswith(PARTS)}
    if not packed:
        return folder
    whole = scratch / "whole" / (folder.resolve().name or "model")
    whole.mkdir(parents=True)
    for path in packed.values():
        unpack(path, whole)
    for name, path in files.items():
        if plain_name(name) == name:
            _place(path.resolve(), whole / name)
    return whole


_place = shutil.copyfile if os.name == "nt" else os.symlink  # on Windows links need a privilege


def _unpacked(path: Path, folder: Path) -> Path:
    folder.mkdir()
    unpack(path, folder)
    found = innermost(folder)
    files = list(found.iterdir())
    return files[0] if len(files) == 1 else found
