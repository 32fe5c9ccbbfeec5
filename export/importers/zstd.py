"""Files packed by Zstandard. Python has it from 3.14 on; before, a package or the program `zstd` unpacks them."""

import contextlib
import importlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from export.importers import ImportRefused

MODULES = ("compression.zstd", "backports.zstd", "zstandard")
"""Of each the function `open` reads packed files."""
PROGRAM = "zstd"


@contextlib.contextmanager
def open_zstd(path: Path) -> Iterator[IO[bytes]]:
    """The unpacked content. Raises ImportRefused where nothing here unpacks it, and at the end for a damaged file."""
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        with module.open(path, "rb") as file:
            yield file
        return
    program = shutil.which(PROGRAM)
    if program is None:
        raise ImportRefused(
            f"{path} is packed by Zstandard: install the package zstandard or the program {PROGRAM}, or unpack it first"
        )
    command = [program, "-dcq", "--", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        except BaseException:
            process.kill()
            raise
        finally:
            process.stdout.close()
    if process.returncode:
        raise ImportRefused(f"{path} is damaged, or not packed by Zstandard")
