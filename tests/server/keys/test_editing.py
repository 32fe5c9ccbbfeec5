"""Keys that are added, limited, rotated and revoked."""

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from server.keys.editing import NO_KEYS, EditableKeys, FileKeys, NameTaken, NoSuchKey, StoreKeys, limit, rotate
from server.keys.lines import read_keys
from server.keys.record import MOST_SECRETS, KeyLimits, KeyRecord, Secret, hash_of
from server.stores.open_store import open_store
from tests.api_keys import new_key
from tests.disk import Disk

NOW = 1_000_000.0


@pytest.fixture(params=["file", "store"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> EditableKeys:
    if request.param == "file":
        return FileKeys(tmp_path / "keys")
    stored = open_store(f"sqlite:///{tmp_path}/keys.db").keys
    assert stored is not None
    return StoreKeys(stored)


def record(name: str = "shop", secret: str = "first", expires: float | None = None) -> KeyRecord:
    limits = KeyLimits(rate=0.5, chars_per_day=1000)
    return KeyRecord(name, frozenset({"translate"}), (Secret(hash_of(secret), expires),), limits)


def test_a_key_is_added_once_and_revoked_once(keys: EditableKeys) -> None:
    assert keys.records() == []
    keys.add(record())
    keys.add(record("desk", "other"))
    with pytest.raises(NameTaken, match="'shop'"):
        keys.add(record("shop", "third"))
    assert {key.name: key for key in keys.records()} == {"shop": record(), "desk": record("desk", "other")}
    keys.revoke("shop")
    for call in (
        lambda: keys.revoke("shop"),
        lambda: rotate(keys, "shop", NOW, 60),
        lambda: limit(keys, "shop", {"rate": 1.0}),
    ):
        with pytest.raises(NoSuchKey, match="'shop'"):
            call()
    keys.revoke("desk")
    assert keys.records() == []
    keys.add(record())
    assert keys.records() == [record()]


def test_a_rotated_key_keeps_its_old_secret_for_a_time(keys: EditableKeys) -> None:
    keys.add(record(expires=NOW + 500))
    keys.add(record("desk", "other"))
    secret, rotated = rotate(keys, "shop", NOW, 60)
    assert rotated.secrets == (Secret(hash_of("first"), NOW + 60), Secret(hash_of(secret), NOW + 500))
    assert rotated in keys.records()
    newest, rotated = rotate(keys, "shop", NOW + 70, 0)
    assert rotated.secrets == (Secret(hash_of(newest), NOW + 500),)
    for _ in range(2 * MOST_SECRETS):
        newest, rotated = rotate(keys, "desk", NOW, 60)
    assert len(rotated.secrets) == MOST_SECRETS
    assert rotated.secrets[-1] == Secret(hash_of(newest))


def test_limits_that_are_named_change_and_all_else_of_a_key_stays(keys: EditableKeys) -> None:
    keys.add(record(expires=NOW + 500))
    keys.add(record("desk", "other"))
    rotate(keys, "shop", NOW, 60)
    [before] = (key for key in keys.records() if key.name == "shop")
    limited = limit(keys, "shop", {"rate": None, "concurrency": 3, "chars_per_month": 9_000})
    expected = KeyLimits(concurrency=3, chars_per_day=1000, chars_per_month=9_000)
    assert limited == replace(before, limits=expected)
    assert {key.name: key for key in keys.records()} == {"shop": limited, "desk": record("desk", "other")}
    assert limit(keys, "shop", {}) == limited


def test_changes_at_the_same_time_are_all_kept(keys: EditableKeys) -> None:
    keys.add(record())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: keys.add(record(f"k{number}", f"s{number}")), range(8)))
        list(pool.map(lambda _: rotate(keys, "shop", NOW, 60), range(4)))
    kept = {key.name: len(key.secrets) for key in keys.records()}
    assert kept == {"shop": 5, **{f"k{number}": 1 for number in range(8)}}


def test_the_rest_of_a_file_stays(tmp_path: Path) -> None:
    file, link = tmp_path / "keys", tmp_path / "link"
    _, line = new_key("shopping", ("translate",))
    file.write_text(f"# ours\n\n{line}\n")
    file.chmod(0o640)
    link.symlink_to(file)
    FileKeys(link).add(record())
    rotate(FileKeys(file), "shop", NOW, 60)
    assert file.read_text().splitlines()[:3] == ["# ours", "", line]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert link.is_symlink()
    FileKeys(file).revoke("shop")
    assert file.read_text() == f"# ours\n\n{line}\n"
    FileKeys(file).revoke("shopping")
    assert file.read_text() == f"# ours\n\n{NO_KEYS}\n"
    assert read_keys(file.read_text().splitlines(), "keys", may_be_empty=True) == []
    FileKeys(file).add(record())
    assert NO_KEYS not in file.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["keys", "link"]


def test_a_key_is_there_after_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(tmp_path, monkeypatch)
    file = FileKeys(tmp_path / "keys")
    file.add(record())
    assert disk.has(tmp_path / "keys")
    rotate(file, "shop", NOW, 60)
    assert disk.has(tmp_path / "keys")
    assert disk.num_renames == 2


def test_a_new_file_is_readable_for_its_owner_only(tmp_path: Path) -> None:
    FileKeys(tmp_path / "keys").add(record())
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o600
