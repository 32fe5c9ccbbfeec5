"""A process that ends with its parent, however that ends."""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
"""prctl(2)"""


def end_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the process `parent`, which forked it, ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)
