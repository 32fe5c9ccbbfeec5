"""How keys are found, and what changes while they are used."""

from pathlib import Path

import pytest

from server.keys import ring as ring_module
from server.keys.key import LimitReached
from server.keys.record import KeyLimits, KeyRecord, Scope, Secret, hash_of
from server.keys.ring import KeyRing
from server.runtime.setting_fields import SettingsError
from tests.api_keys import new_key


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


def record(name: str, secret: str, *scopes: Scope, expires: float | None = None, **limits: int) -> KeyRecord:
    return KeyRecord(
        name, frozenset(scopes or ("translate",)), (Secret(hash_of(secret), expires),), KeyLimits(**limits)
    )


def test_a_revoked_secret_is_found_no_more_and_others_still() -> None:
    ring = KeyRing([record("boss", "b", "admin")], is_required=True)
    ring.replace("store", [record("shop", "s"), record("desk", "d")])
    assert [key.name for key in ring.keys] == ["boss", "shop", "desk"]
    ring.replace("store", [record("desk", "d")])
    results = {secret: ring.find(secret) for secret in ("b", "s", "d")}
    assert {secret: key and key.name for secret, key in results.items()} == {"b": "boss", "s": None, "d": "desk"}


def test_requests_in_work_still_count_when_their_key_changes_or_goes() -> None:
    ring = KeyRing(is_required=True)
    ring.replace("store", [record("shop", "s", concurrency=1)])
    before = ring.find("s")
    assert before is not None
    before.enter()
    ring.replace("store", [])
    ring.replace("store", [record("shop", "new", concurrency=1, chars_per_day=5)])
    after = ring.find("new")
    assert after is not None
    assert after.limits.chars_per_day == 5
    with pytest.raises(LimitReached):
        after.enter()
    before.release()
    after.enter()


def test_a_secret_expires() -> None:
    now = [1000.0]
    ring = KeyRing([record("shop", "s", expires=2000.0)], is_required=True, clock=lambda: now[0])
    assert ring.find("s") is not None
    now[0] = 2000.0
    assert ring.find("s") is None
    assert ring.is_required


def test_a_name_of_the_settings_hides_that_of_the_store() -> None:
    ring = KeyRing([record("shop", "s", "translate")], is_required=True)
    ring.replace("store", [record("shop", "other", "admin")])
    assert ring.find("other") is None
    [key] = ring.keys
    assert (key.origin, key.is_admin) == ("settings", False)


def test_hashes_that_begin_alike_are_not_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring_module, "INDEXED", 0)
    ring = KeyRing([record(f"k{number}", f"s{number}") for number in range(5)], is_required=True)
    results = [ring.find(f"s{number}") for number in range(6)]
    assert [key and key.name for key in results] == ["k0", "k1", "k2", "k3", "k4", None]


def test_a_server_whose_keys_are_in_its_store_is_closed_without_them() -> None:
    ring = KeyRing.load("store")
    assert (ring.is_required, ring.keys, ring.find("")) == (True, (), None)
    assert not KeyRing.load("").is_required
