"""A process that replaces an artifact by another one and is killed before one of the calls that change the disk."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from export.replaced import replaced

CHANGES = {"os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "ctypes.dlsym"}
"""Audit events of Python; the last one is that of exchanging two folders."""
KILLED, DONE, FAILED = 9, 0, 2


def replace(out: Path, new: Path) -> None:
    """The files of the artifact `new` take the place of `out`. They are linked, not copied."""
    with replaced(out) as folder:
        for path in new.iterdir():
            os.link(path, folder / path.name)


def killed_before(change: int, call: Callable[[], None]) -> bool:
    """Make a call in a process that is killed before its change of this number, from 0 on; returns whether there was
    one."""
    pid = os.fork()
    if pid == 0:
        left = change

        def audit(event: str, arguments: object) -> None:
            nonlocal left
            if event in CHANGES:
                left -= 1
                if left < 0:
                    os._exit(KILLED)

        try:
            sys.addaudithook(audit)
            call()
        except BaseException:
            os._exit(FAILED)
        os._exit(DONE)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (KILLED, DONE), status
    return status == KILLED
