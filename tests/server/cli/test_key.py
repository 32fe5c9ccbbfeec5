"""`ringmt key` with a file; tests/server/api/native/test_keys.py has it with stores of running servers."""

from pathlib import Path

import pytest

from server.cli import main as cli
from server.keys.ring import KeyRing


def run(*words: str) -> int:
    return cli.main(["key", *words])


def test_a_file_of_keys_is_made_and_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "keys")
    limits = ("--concurrency", "2", "--rate", "0.5", "--chars-per-day", "100", "--chars-per-month", "1000")
    assert run("add", "shop", *limits, "--expires", "2999-01-31", "--file", file) == 0
    first = capsys.readouterr()
    assert first.out == "", "the secret goes to no file that collects the output"
    secret = first.err.split()[-1]
    assert run("add", "boss", "--scopes", "admin", "--file", file) == 0
    assert run("rotate", "shop", "--keep-seconds", "60", "--file", file) == 0
    newer = capsys.readouterr().err.split()[-1]
    ring = KeyRing.load(file)
    for given in (secret, newer):
        key = ring.find(given)
        assert key is not None
        assert key.name == "shop"
    assert run("list", "--file", file) == 0
    listed = capsys.readouterr().out
    shop = "concurrency=2\trate=0.5\tchars_per_day=100\tchars_per_month=1000\texpires=2999-01-31T00:00:00Z"
    assert listed == f"boss\tadmin\t1 secret\nshop\ttranslate,documents\t2 secrets\t{shop}\n"
    assert run("limit", "shop", "--rate", "none", "--chars-per-day", "200", "--file", file) == 0
    shown = "concurrency=2\tchars_per_day=200\tchars_per_month=1000\texpires=2999-01-31T00:00:00Z"
    assert capsys.readouterr().out == f"shop\ttranslate,documents\t2 secrets\t{shown}\n"
    assert all(KeyRing.load(file).find(given) is not None for given in (secret, newer))
    assert run("revoke", "shop", "--file", file) == 0
    assert KeyRing.load(file).find(newer) is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "shop"), "name either --file FILE or --store URL"),
        (("list", "--file", "a", "--store", "memory://"), "name either"),
        (("add", "shop", "--store", "memory://"), "memory:// keeps no keys"),
        (("list", "--store", "sqlite:////nowhere/at/all"), "folder must exist"),
        (("revoke",), "name the key"),
        (("remove", "shop"), "'remove' is none of add, limit, list, revoke, rotate"),
        (("add", "a b", "--file", "keys"), "a name has letters"),
        (("add", "list", "--file", "keys"), "is none of"),
        (("add", "shop", "--scopes", "admn", "--file", "keys"), "did you mean 'admin'"),
        (("add", "shop", "--chars-per-day", "1.5", "--file", "keys"), "chars_per_day must be a number above 0"),
        (("add", "shop", "--expires", "soon", "--file", "keys"), "a time like 2027-01-31"),
        (("rotate", "shop", "--keep-seconds", "-1", "--file", "keys"), "from 0 to a year"),
        (("rotate", "shop", "--file", "keys"), "there is no key 'shop'"),
        (("limit", "shop", "--rate", "2", "--file", "keys"), "there is no key 'shop'"),
        (("limit", "shop", "--file", "keys"), "name a limit (--concurrency, --rate, --chars-per-day"),
        (("limit", "shop", "--rate", "0", "--file", "keys"), "rate must be a number above 0, not '0'"),
    ],
)
def test_what_cannot_be_done_is_said(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 1
    assert message in capsys.readouterr().err
