"""`ringmt` whose supervisor soon kills a worker that hangs, and gets the processes that workers leave behind, as the
first process of a container does."""

import ctypes

from server.cli.main import main
from server.runtime.processes import supervisor

PR_SET_CHILD_SUBREAPER = 36
"""prctl(2)"""

if __name__ == "__main__":
    supervisor.HUNG_SECONDS = 4.0
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    raise SystemExit(main())
