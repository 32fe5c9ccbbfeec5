"""Documents of an older format in Redis are brought to the format of today, one document at a time."""

from typing import Any

import redis

from server.documents.stores.codec import FORMAT
from server.documents.stores.old_format import model_of, upgraded_document, upgraded_sentence
from server.documents.stores.redis_scripts import PREFIX

FORMAT_KEY = f"{PREFIX}format"
SETS = ("queued", "running", "resting")
"""Where the ids of all documents are; see redis_scripts.py."""


class NewerFormat(ValueError):
    """A newer RingMT wrote these documents."""


def upgrade(client: Any) -> None:
    """Several servers may do it at the same time, and one that is killed leaves the rest to the next. Servers of an
    older RingMT must have ended. Raises NewerFormat and redis.RedisError."""
    found = int(client.get(FORMAT_KEY) or 1)
    if found > FORMAT:
        raise NewerFormat(f"its documents have format {found}, this RingMT knows up to {FORMAT}: update RingMT")
    if found < FORMAT:
        for name in SETS:
            for document_id in client.zrange(PREFIX + name, 0, -1):
                _upgrade_document(client, document_id.decode())
        client.set(FORMAT_KEY, FORMAT)


def _upgrade_document(client: Any, document_id: str) -> None:
    """Upgrade a document in one transaction, and again when somebody changed it meanwhile."""
    document_key, sentences_key = f"{PREFIX}document:{document_id}", f"{PREFIX}sentences:{document_id}"
    with client.pipeline() as pipe:
        while True:
            try:
                pipe.watch(document_key, sentences_key)
                body = pipe.hget(document_key, "body")
                if body is None:
                    return
                sentences = [upgraded_sentence(one) for one in pipe.lrange(sentences_key, 0, -1)]
                pipe.multi()
                fields = {"body": upgraded_document(body, sentences), "model": model_of(body)}
                pipe.hset(document_key, mapping=fields)
                for index, sentence in enumerate(sentences):
                    pipe.lset(sentences_key, index, sentence)
                pipe.execute()
                return
            except redis.WatchError:
                continue
