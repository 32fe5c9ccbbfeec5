"""`ringmt key`: makes, lists, limits, rotates and revokes API keys in a file or in a store."""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from server.keys.editing import EditableKeys, FileKeys, StoreKeys, limit, rotate
from server.keys.lines import lines_of, read_limits, read_scopes, read_time, written_time
from server.keys.record import LIMITS, NAME, SCOPES, KeyRecord, Secret, hash_of, new_secret, sorted_scopes
from server.runtime.setting_fields import SettingsError
from server.stores.open_store import open_store

ACTIONS = ("add", "limit", "list", "revoke", "rotate")
NO_LIMIT = "none"
KEEP_SECONDS = 86400.0
WHERE = "ringmt key"


class KeyCommand:
    """`ringmt key`."""

    help = (
        "API keys in a file (--file, which servers read again when it changes) or in a store (--store): add NAME, "
        "list, limit NAME (only the limits that are given change), rotate NAME, revoke NAME. `ringmt key NAME` only "
        "prints a line for --api-keys. A new key goes to standard error, once."
    )

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        parser.add_argument("action", metavar="add|list|limit|rotate|revoke|NAME", help="what to do")
        parser.add_argument("name", nargs="?", help="name of the owner: letters, digits, . _ -")
        parser.add_argument("--file", type=Path, help="the file of keys")
        parser.add_argument("--store", help="the store of keys: sqlite:///PATH or redis://HOST:PORT/DB")
        parser.add_argument("--scopes", default="translate,documents", help=f"of {', '.join(SCOPES)}, comma-separated")
        parser.add_argument("--concurrency", help="requests in work at the same time (default: none, no limit)")
        parser.add_argument("--rate", help="requests a second, twice as many in a burst (default: none)")
        parser.add_argument("--chars-per-day", help="characters in a day of UTC (default: none)")
        parser.add_argument("--chars-per-month", help="characters in a month of UTC (default: none)")
        parser.add_argument("--expires", help="a day or time, like 2027-01-31 (default: never)")
        parser.add_argument(
            "--keep-seconds",
            type=float,
            default=KEEP_SECONDS,
            help=f"rotate: for how long the present secrets are still accepted (default {KEEP_SECONDS:g})",
        )

    def run(self, args: argparse.Namespace, /) -> int:
        if args.action not in ACTIONS:
            if args.name is not None:
                raise SettingsError(f"{WHERE}: '{args.action}' is none of {', '.join(ACTIONS)}")
            args.name = args.action
            secret, record = _new_key(args)
            _show(secret)
            print("\n".join(lines_of(record)))
            return 0
        if args.action != "list" and args.name is None:
            raise SettingsError(f"{WHERE} {args.action}: name the key")
        with _opened(args) as keys:
            _act(args, keys)
        return 0


def _act(args: argparse.Namespace, keys: EditableKeys) -> None:
    match args.action:
        case "add":
            secret, record = _new_key(args)
            keys.add(record)
            _show(secret)
        case "rotate":
            if not 0 <= args.keep_seconds <= 366 * KEEP_SECONDS:
                raise SettingsError(f"{WHERE} rotate: --keep-seconds must be from 0 to a year")
            secret, _ = rotate(keys, args.name, time.time(), args.keep_seconds)
            _show(secret)
        case "limit":
            given, none = _limits(args)
            if not given and not none:
                flags = ", ".join(f"--{name.replace('_', '-')}" for name in LIMITS)
                raise SettingsError(f"{WHERE} limit: name a limit ({flags}), with a number or {NO_LIMIT}")
            numbers = asdict(read_limits(given, WHERE))
            print(_described(limit(keys, args.name, {name: numbers[name] for name in (*given, *none)})))
        case "revoke":
            keys.revoke(args.name)
        case _:
            for record in sorted(keys.records(), key=lambda record: record.name):
                print(_described(record))


def _new_key(args: argparse.Namespace) -> tuple[str, KeyRecord]:
    """Raises SettingsError, as a server would."""
    if not NAME.fullmatch(args.name) or args.name in ACTIONS:
        raise SettingsError(f"{WHERE}: a name has letters, digits, . _ - and is none of {', '.join(ACTIONS)}")
    secret = new_secret()
    limits, _ = _limits(args)
    return secret, KeyRecord(
        args.name,
        read_scopes(args.scopes, WHERE),
        (Secret(hash_of(secret), None if args.expires is None else read_time(args.expires, WHERE)),),
        read_limits(limits, WHERE),
        created=time.time(),
    )


def _limits(args: argparse.Namespace) -> tuple[dict[str, str], list[str]]:
    """The limits that are given, and the names of those that are to be none."""
    given = {name: getattr(args, name) for name in LIMITS if getattr(args, name) is not None}
    return {name: value for name, value in given.items() if value != NO_LIMIT}, [
        name for name, value in given.items() if value == NO_LIMIT
    ]


@contextmanager
def _opened(args: argparse.Namespace) -> Iterator[EditableKeys]:
    if (args.file is None) == (args.store is None):
        raise SettingsError(f"{WHERE} {args.action}: name either --file FILE or --store URL")
    if args.file is not None:
        yield FileKeys(args.file)
        return
    try:
        store = open_store(args.store)
        try:
            if store.keys is None:
                raise SettingsError("memory:// keeps no keys: name sqlite:///PATH or redis://HOST:PORT/DB")
            yield StoreKeys(store.keys)
        finally:
            store.close()
    except RuntimeError as error:  # StoreError, KeysFull
        raise SettingsError(str(error)) from error


def _described(record: KeyRecord) -> str:
    limits = [f"{name}={value:g}" for name, value in asdict(record.limits).items() if value is not None]
    expires = [] if record.expires is None else [f"expires={written_time(record.expires)}"]
    count = f"{len(record.secrets)} secret{'s' if len(record.secrets) > 1 else ''}"
    scopes = ",".join(sorted_scopes(record.scopes))
    return "\t".join([record.name, scopes, count, *limits, *expires])


def _show(secret: str) -> None:
    print(f"The key, shown this once: {secret}", file=sys.stderr)


KEY = KeyCommand()
