"""How keys are found, and what changes while they are used."""

from pathlib import Path

import pytest

from server.keys.key import LimitReached
from server.keys.lines import new_key
from server.keys.ring import KeyRing
from server.settings import SettingsError


def test_a_new_key_is_found_and_no_other() -> None:
    secret, line = new_key("shop", ("translate", "documents"))
    other, other_line = new_key("desk", ("admin",))
    ring = KeyRing.load(f"# ours\n{line} concurrency=2 rate=1.5\n\n{other_line}")
    result = ring.find(secret)
    assert result is not None
    assert (result.name, result.limits.concurrency, result.limits.rate) == ("shop", 2, 1.5)
    assert result.may("translate")
    assert not result.may("admin")
    desk = ring.find(other)
    assert desk is not None
    assert desk.may("documents")
    for wrong in ("", secret[:-1], secret + "x", line, result.record.secrets[0].hash, "\udcff"):
        assert ring.find(wrong) is None
    assert secret not in repr(ring.keys), "a secret is not kept"
    assert secret not in line


def test_a_file_and_a_variable_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    _, first = new_key("a", ("translate",))
    _, two = new_key("b", ("documents",))
    file.write_text(f"{first}\n{two}\n")
    rings = KeyRing.load(str(file)), KeyRing.load(f"{first}; {two}")
    assert len({tuple(key.record for key in ring.keys) for ring in rings}) == 1


def test_a_file_that_is_not_there_says_what_to_do() -> None:
    with pytest.raises(SettingsError, match="ringmt key NAME"):
        KeyRing.load("/nowhere/keys")


def test_an_owner_is_a_name_whatever_the_secret() -> None:
    old, line = new_key("shop", ("documents",))
    new, newer = new_key("shop", ("documents",))
    ring = KeyRing.load(f"{line} concurrency=1\n{newer} concurrency=1")
    results = [ring.find(secret) for secret in (old, new)]
    assert results[0] is not None
    assert results[0] is results[1]
    assert (results[0].owner, len(ring.keys)) == ("shop", 1)
    results[0].enter()
    with pytest.raises(LimitReached):  # the limits are those of both together
        results[1].enter()


def test_former_owners_are_those_of_every_secret() -> None:
    """As they were made of it before: the hash of "owner " and the secret's hash."""
    ring = KeyRing.load(f"a documents sha256:{'0' * 64}\na documents sha256:{'1' * 64}\nb admin sha256:{'2' * 64}")
    assert ring.former_owners == {"c669795bf442": "a", "d908ebefd00a": "a", "aaf6fdc06ead": "b"}
