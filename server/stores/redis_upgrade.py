"""Converts documents and glossaries of released formats in Redis (see old_format.py) to the present format, one at a
time."""

import contextlib
from collections.abc import Callable
from typing import Any

import redis

from server.stores.codec import FORMAT
from server.stores.old_format import FORMER, former_owner, model_of, upgraded_document, upgraded_sentence
from server.stores.redis_common import PREFIX
from server.stores.redis_glossaries import GLOSSARIES_KEY, glossary_place

FORMAT_KEY = f"{PREFIX}format"
SETS = ("queued", "running", "resting")
"""The sets that had the ids of all documents up to format 2."""


class NewerFormat(ValueError):
    """A newer RingMT wrote these documents."""


def upgrade(client: Any, to_owner: Callable[[str, str], None], index: Callable[[str], None]) -> None:
    """Several servers may do it at the same time; if one is killed, the next one continues. Servers of an older RingMT
    must have ended. `to_owner` gives a document of format 2 (its id) an owner and the other fields of format 3, `index`
    one of format 3 the places of later formats. Raises NewerFormat and redis.RedisError."""
    stored = int(client.get(FORMAT_KEY) or 1)
    if stored > FORMAT:
        raise NewerFormat(f"its documents have format {stored}, this RingMT knows up to {FORMAT}: update RingMT")
    if stored < 3:
        for name in SETS:
            for document_id in map(bytes.decode, client.zrange(PREFIX + name, 0, -1)):
                if stored < 2:
                    _upgrade_document(client, document_id)
                to_owner(document_id, former_owner(document_id))
        _upgrade_glossaries(client)
    if stored < FORMAT:
        for document_id in map(bytes.decode, client.zrange(f"{PREFIX}documents", 0, -1)):
            index(document_id)
        client.set(FORMAT_KEY, FORMAT)


def _upgrade_glossaries(client: Any) -> None:
    """Up to format 2, owners were hashes of keys, and there was no list of all glossaries."""
    for key in list(client.scan_iter(f"{PREFIX}glossaries:*", count=1000)):
        owner = key.decode().removeprefix(f"{PREFIX}glossaries:")
        former = owner if not owner or owner.startswith(FORMER) else FORMER + owner
        for glossary_id in map(bytes.decode, client.hkeys(key)):
            client.zadd(GLOSSARIES_KEY, {glossary_place(glossary_id, former): 0})
        if former != owner:
            with contextlib.suppress(redis.ResponseError):  # another server has renamed it
                client.rename(key, f"{PREFIX}glossaries:{former}")


def _upgrade_document(client: Any, document_id: str) -> None:
    """Upgrade a document in one transaction, and again when another client changed it meanwhile."""
    document_key, sentences_key = f"{PREFIX}document:{document_id}", f"{PREFIX}sentences:{document_id}"
    with client.pipeline() as pipe:
        while True:
            try:
                pipe.watch(document_key, sentences_key)
                body = pipe.hget(document_key, "body")
                if body is None:
                    return
                sentences = [upgraded_sentence(sentence) for sentence in pipe.lrange(sentences_key, 0, -1)]
                pipe.multi()
                fields = {"body": upgraded_document(body, sentences), "model": model_of(body)}
                pipe.hset(document_key, mapping=fields)
                for index, sentence in enumerate(sentences):
                    pipe.lset(sentences_key, index, sentence)
                pipe.execute()
                return
            except redis.WatchError:
                continue
