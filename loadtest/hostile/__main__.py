"""Send every hostile input to a server, one after the other, and say what each costs the server and everybody else.

    python -m loadtest.hostile --json after.json [--before before.json]

For each input: its size, the status, seconds, how much the server's memory grew meanwhile (and that of the processes
below it), the longest that /livez took, and the time of short sentences that others sent meanwhile, as a multiple of
what they take on an idle server. A client hangs up when its time is over. A server that does not come back, or works on
without its client, is killed and started again, and the row says so. No input is tried when
`--total` seconds are over: the whole takes five minutes at most.
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
"""The share of the full size that is sent with --quick."""


class Servers:
    """The server that the next input is sent to; one that is unwell is replaced."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._now: Server | None = None

    def get(self, keyed: bool) -> Server:
        if self._now is not None and self._now.is_keyed != keyed:
            self.end()
        if self._now is None:
            self._now = Server(self._command, keyed)
        return self._now

    def end(self) -> None:
        if self._now is not None:
            self._now.end()
            self._now = None


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
    """A row for every input, as long as there is time. `limit`: seconds for one; after `total` seconds no
    other is tried; `share` of the full
    sizes; `most_memory`: bytes at which the server is killed. Raises RuntimeError where it does not start."""
    give_up = time.monotonic() + total
    with servers(command) as started:
        for done, case in enumerate(inputs):
            left = give_up - time.monotonic()
            if left <= 0:
                return
            server = started.get(case.keyed)
            # What earlier inputs did not need is there for later ones; no single one eats it up.
            row = run_attempt(case, server, min(limit, max(2.0, 3 * left / (len(inputs) - done))), share, most_memory)
            if row.unwell:
                started.end()
            yield row


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m loadtest.hostile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--command", help="starts a server; --port N is added (default: as make serve does)")
    parser.add_argument("--models", help="what the server serves (default: the bundled models)")
    parser.add_argument("--only", default="", help="only inputs whose names have this in them")
    parser.add_argument("--limit", type=float, default=6.0, help="seconds after which a client hangs up")
    parser.add_argument("--total", type=float, default=285.0, help="seconds after which no other input is tried")
    parser.add_argument("--most-memory", type=int, default=3072, help="MiB at which the server is killed")
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--json", type=Path, help="file for all that was measured")
    parser.add_argument("--before", type=Path, help="such a file of another version, shown beside this one")
    args = parser.parse_args(arguments)
    command = shlex.split(args.command) if args.command else default_command()
    command += ["--models", args.models] if args.models else []
    inputs = [case for case in INPUTS if args.only in case.name]
    rows = list[Row]()
    for row in run(inputs, command, args.limit, args.total, QUICK if args.quick else 1.0, args.most_memory * MIB):
        rows.append(row)
        print(table([row]).splitlines()[2], file=sys.stderr, flush=True)
        if args.json:
            args.json.write_text(json.dumps([asdict(one) for one in rows], indent=1), encoding="utf-8")
    before = [Row(**one) for one in json.loads(args.before.read_text(encoding="utf-8"))] if args.before else []
    print(table(rows, before))
    missing = len(inputs) - len(rows)
    if missing:
        print(f"\nThere was no time for {missing} of {len(inputs)} inputs: --total says how much there is.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
