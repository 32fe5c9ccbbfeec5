"""Send hostile inputs to a server, one by one, and measure what each costs the server and other clients.

    python -m loadtest.hostile --json after.json [--before before.json]

For each input the table has its size, status and seconds, the growth of the memory of the server and of its child
processes, the longest time of /livez, and the time of short sentences of other clients as a multiple of their time on
an idle server. A client disconnects at its timeout. A server that stays silent or works on without its client is killed
and started again, and the row says so. After `--total` seconds no further input is sent: at most five minutes in all.
"""

import argparse
import contextlib
import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from loadtest.hostile.attempt import HostileInput
from loadtest.hostile.inputs import INPUTS
from loadtest.hostile.serving import Server, default_command
from loadtest.hostile.table import table
from loadtest.hostile.trial import MIB, Row, run_attempt

QUICK = 0.02
"""Share of the full size with --quick."""


class Servers:
    """Holds the running server."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._server: Server | None = None

    def get(self, keyed: bool) -> Server:
        if self._server is not None and self._server.is_keyed != keyed:
            self.end()
        if self._server is None:
            self._server = Server(self._command, keyed)
        return self._server

    def end(self) -> None:
        if self._server is not None:
            self._server.end()
            self._server = None


@contextlib.contextmanager
def servers(command: Sequence[str]) -> Iterator[Servers]:
    started = Servers(command)
    try:
        yield started
    finally:
        started.end()


def run(
    inputs: Sequence[HostileInput], command: Sequence[str], limit: float, total: float, share: float, most_memory: int
) -> Iterator[Row]:
    """A row for every input. `limit`: seconds for one input; `total`: seconds after which no further input is sent;
    `share` of the full sizes; `most_memory`: bytes at which the server is killed. Raises RuntimeError if the server
    does not start."""
    deadline = time.monotonic() + total
    with servers(command) as started:
        for done, case in enumerate(inputs):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            server = started.get(case.keyed)
            # Time that earlier inputs did not use is left for later inputs, at most three times a fair share for each.
            row = run_attempt(case, server, min(limit, max(2.0, 3 * left / (len(inputs) - done))), share, most_memory)
            if row.unwell:
                started.end()
            yield row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m loadtest.hostile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--command", help="starts a server; --port N is added (default: as make serve does)")
    parser.add_argument("--models", help="models of the server (default: the bundled models)")
    parser.add_argument("--only", default="", help="only inputs whose names contain this")
    parser.add_argument("--limit", type=float, default=6.0, help="seconds after which a client disconnects")
    parser.add_argument("--total", type=float, default=285.0, help="seconds after which no further input is sent")
    parser.add_argument("--most-memory", type=int, default=3072, help="MiB at which the server is killed")
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    parser.add_argument("--before", type=Path, help="such a file of another version, to compare with")
    args = parser.parse_args(arguments)
    command = shlex.split(args.command) if args.command else default_command()
    command += ["--models", args.models] if args.models else []
    inputs = [case for case in INPUTS if args.only in case.name]
    rows = list[Row]()
    for row in run(inputs, command, args.limit, args.total, QUICK if args.quick else 1.0, args.most_memory * MIB):
        rows.append(row)
        print(table([row]).splitlines()[2], file=sys.stderr, flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(measured) for measured in rows], indent=1), encoding="utf-8")
    before = [Row(**values) for values in json.loads(args.before.read_text(encoding="utf-8"))] if args.before else []
    print(table(rows, before))
    missing = len(inputs) - len(rows)
    if missing:
        print(f"\n{missing} of {len(inputs)} inputs were not sent within --total seconds.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
