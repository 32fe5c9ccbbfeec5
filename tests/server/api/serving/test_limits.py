"""The limits that follow from the settings."""

import dataclasses

import pytest

from server.api.serving.limits import MEMORY_BYTES, MOST_SHARES, STORE_BYTES, document_limits, file_limits
from server.documents.expiry import INTERVAL_SECONDS
from server.settings import Settings

DEFAULTS = Settings(port=0)


def test_without_keys_only_all_documents_are_limited() -> None:
    limits = document_limits(DEFAULTS, None)
    assert (limits.documents, limits.num_bytes) == (DEFAULTS.max_documents, MEMORY_BYTES)
    assert limits.owner_documents is limits.owner_open is limits.owner_bytes is None


@pytest.mark.parametrize(("num_keys", "share"), [(0, 1), (1, 1), (2, 2), (4, MOST_SHARES), (100, MOST_SHARES)])
def test_a_key_gets_its_share(num_keys: int, share: int) -> None:
    limits = document_limits(DEFAULTS, num_keys)
    assert limits.owner_documents == DEFAULTS.max_documents // share
    assert limits.owner_bytes == MEMORY_BYTES // share
    assert limits.owner_open == DEFAULTS.max_queued_documents_per_key


def test_what_the_settings_say_comes_before_shares() -> None:
    settings = dataclasses.replace(
        DEFAULTS, max_documents_per_key=7, max_documents_bytes_per_key=8, max_documents_bytes=9, max_documents=1
    )
    limits = document_limits(settings, 3)
    assert (limits.owner_documents, limits.owner_bytes, limits.num_bytes, limits.documents) == (7, 8, 9, 1)
    assert document_limits(dataclasses.replace(DEFAULTS, max_documents=1), 3).owner_documents == 1


def test_stores_outside_of_memory_keep_more() -> None:
    assert document_limits(dataclasses.replace(DEFAULTS, context_store="sqlite:///x"), None).num_bytes == STORE_BYTES


@pytest.mark.parametrize(("ttl", "more"), [(10 * INTERVAL_SECONDS, INTERVAL_SECONDS), (1.0, 1.0)])
def test_a_document_has_expired_one_round_after_its_time(ttl: float, more: float) -> None:
    limits = document_limits(dataclasses.replace(DEFAULTS, document_ttl=ttl), None)
    assert limits.expires_after == ttl + more


def test_a_translated_file_may_be_larger_than_its_source() -> None:
    settings = dataclasses.replace(DEFAULTS, max_file_bytes=100, max_body_bytes=10, file_cpu_seconds=2.0)
    limits = file_limits(settings)
    assert limits.max_written_bytes == 100 + 4 * 2**20
    assert limits.wall_seconds == 3 * limits.cpu_seconds == 6.0
