"""Keys as stores and files keep them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.keys.lines import lines_of, read_keys
from server.keys.record import SCOPES, KeyLimits, KeyRecord, Secret
from server.keys.stored import decode, encode, read_stored
from server.stores.keys import StoredKeys

whole = st.none() | st.integers(1, 10**15 - 1)
names = st.text("aZ09_.-", min_size=1, max_size=64)
secrets = st.builds(
    Secret,
    st.integers(0, 2**256 - 1).map(lambda number: f"{number:064x}"),
    st.none() | st.integers(1, 4 * 10**9).map(float),
)
records = st.builds(
    KeyRecord,
    names,
    st.frozensets(st.sampled_from(SCOPES), min_size=1),
    st.lists(secrets, min_size=1, max_size=3, unique_by=lambda secret: secret.hash).map(tuple),
    st.builds(KeyLimits, whole, st.none() | st.integers(1, 10**12).map(lambda n: n / 1000), whole, whole),
    st.none(),
)


@settings(max_examples=50, deadline=None)
@given(record=records)
def test_a_key_is_the_same_in_a_store_and_in_a_file(record: KeyRecord) -> None:
    assert encode(record).isascii()
    assert decode(record.name, encode(record)) == record
    assert read_keys(lines_of(record), "keys") == [record]


def test_what_a_newer_version_wrote(caplog: pytest.LogCaptureFixture) -> None:
    record = KeyRecord("shop", frozenset({"admin"}), (Secret("0" * 64),), created=1.5)
    values = json.loads(encode(record))
    newer = json.dumps({**values, "scopes": ["admin", "score"], "more": 1})
    assert decode("shop", newer) == record
    limited = json.dumps({**values, "limits": {"chars_per_hour": 1}})
    assert read_stored(StoredKeys("1", {"a": limited, "b": "{}", "c": "no", "shop": newer})) == [record]
    assert [entry.getMessage().split("'")[1] for entry in caplog.records] == ["a", "b", "c"]
    assert "chars_per_hour are not known" in caplog.records[0].getMessage()
    assert "0" * 64 not in caplog.text
