"""`ringmt key`: creates an API key and its line for --api-keys."""

import argparse
import sys

from server.keys.lines import new_key, read_keys, read_scopes
from server.keys.record import SCOPES


class KeyCommand:
    """`ringmt key`."""

    help = "Make an API key. The key goes to standard error, once; the line for --api-keys to standard output."

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        parser.add_argument("name", help="name of the owner: letters, digits, . _ -")
        parser.add_argument("--scopes", default="translate,documents", help=f"of {', '.join(SCOPES)}, comma-separated")
        parser.add_argument("--concurrency", help="requests in work at the same time (default: no limit)")
        parser.add_argument("--rate", help="requests a second, twice as many in a burst (default: no limit)")

    def run(self, args: argparse.Namespace, /) -> int:
        key, line = new_key(args.name, read_scopes(args.scopes, "ringmt key"))
        for limit in ("concurrency", "rate"):
            if getattr(args, limit) is not None:
                line += f" {limit}={getattr(args, limit)}"
        read_keys([line], "ringmt key")  # raises what a server would raise
        print(f"The key, shown this once: {key}", file=sys.stderr)
        print(line)
        return 0


KEY = KeyCommand()
