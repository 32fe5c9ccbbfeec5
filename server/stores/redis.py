"""Documents in Redis, which servers on several machines may share. Only this module and redis_upgrade.py import
redis-py; the scripts that run in Redis are in redis_scripts.py and redis_reads.py."""

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from server.stores import redis_common, redis_reads, redis_scripts, validation
from server.stores.codec import decode_document, decode_sentence, encode
from server.stores.interface import ChangePlace, Changes, Cursor, StoreError
from server.stores.limits import BOUNDS, GROWTH, NO_LIMITS, Bound, DocumentLimits, StoreFull, charge_of
from server.stores.records import Document, Sentence
from server.stores.redis_glossaries import RedisGlossaries
from server.stores.redis_keys import RedisKeys, RedisUsage
from server.stores.redis_translation_memories import RedisTranslationMemories
from server.stores.redis_upgrade import NewerFormat, upgrade
from server.telemetry.labels import DocumentState

WRITES: Final = ("CREATE", "UPDATE", "DELETE", "CLAIM", "RENEW", "EXPIRE", "RENAME", "UPGRADE", "INDEX")
READS: Final = ("SENTENCES", "READ", "COUNT", "PAGE", "CHANGES")
TIMEOUT_SECONDS: Final = 5.0
"""How long to wait for a connection and for an answer."""
NO_LIMIT: Final = -1
FIELDS: Final = ("body", "state", "version", "owner")
BATCH: Final = 100
"""Documents that one script deletes or gives to another owner: Redis serves no other client while it runs."""


class RedisStore:
    """A ContextStore in one Redis server (5 or newer; not a cluster). Documents are as durable as the server's own
    settings make them (appendonly); set `maxmemory-policy noeviction`, or it may drop parts of documents. Leases are in
    the server's time. Commands are never sent twice: a StoreError leaves open whether a write happened.
    """

    def __init__(
        self, host: str, port: int = 6379, db: int = 0, username: str | None = None, password: str | None = None
    ) -> None:
        """Raises StoreError when the server does not answer or refuses; the message never shows the password."""
        self._url = f"redis://{f'[{host}]' if ':' in host else host}:{port}/{db}"
        self._is_closed = False
        self._client: Any = redis.Redis(
            host=host,
            port=port,
            db=db,
            username=username,
            password=password,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        sources = {name: getattr(redis_scripts, name) for name in WRITES}
        sources |= {name: getattr(redis_reads, name) for name in READS}
        self._scripts = {
            name: self._client.register_script(redis_common.COMMON + source) for name, source in sources.items()
        }
        self.glossaries = RedisGlossaries(self._client, self._errors)
        self.translation_memories = RedisTranslationMemories(self._client, self._errors)
        self.keys, self.usage = RedisKeys(self._client, self._errors), RedisUsage(self._client, self._errors)
        try:
            with self._errors():
                upgrade(self._client, self._upgrade_document, lambda document_id: self._run("INDEX", document_id))
        except StoreError:
            self._client.close()
            raise

    def create(self, document: Document, sentences: Sequence[Sentence], limits: DocumentLimits = NO_LIMITS) -> None:
        ordered = validation.check_new(document, sentences)
        size = len(encode(document)) + sum(len(encode(sentence)) for sentence in ordered)
        limits.check_alone(charge_of(size, document.state))
        answer = self._run("CREATE", *_arguments(document, 0, limits, ordered))
        if answer[0] == b"taken":
            raise validation.taken(document.id)
        if answer[0] == b"full":
            raise _full(limits, answer)

    def document(self, document_id: str) -> Document:
        validation.check_id(document_id)
        with self._errors():
            fields = self._client.hmget(_document_key(document_id), *FIELDS)
        if fields[0] is None:
            raise validation.unknown(document_id)
        return _document(fields)

    def sentences(self, document_id: str, start: int = 0, end: int | None = None) -> list[Sentence]:
        validation.check_range(start, end)
        validation.check_id(document_id)
        [bodies] = self._read(document_id, "SENTENCES", document_id, *_range(start, end))
        return [decode_sentence(body) for body in bodies]

    def read(self, document_id: str, start: int = 0, end: int | None = None) -> tuple[Document, list[Sentence]]:
        validation.check_range(start, end)
        validation.check_id(document_id)
        fields, bodies = self._read(document_id, "READ", document_id, *_range(start, end))
        return _document(fields), [decode_sentence(body) for body in bodies]

    def update(
        self,
        document: Document,
        expected_version: int,
        sentences: Sequence[Sentence] = (),
        limits: DocumentLimits = NO_LIMITS,
    ) -> None:
        ordered = validation.check_update(document, expected_version, sentences)
        answer = self._run("UPDATE", *_arguments(document, expected_version, limits, ordered))
        if answer[0] == b"unknown":
            raise validation.unknown(document.id)
        if answer[0] == b"changed":
            raise validation.changed(document.id, expected_version, int(answer[1]))
        if answer[0] == b"gap":
            raise validation.gap(document, int(answer[1]), ordered)
        if answer[0] == b"count":
            validation.check_count(document, int(answer[1]))
        if answer[0] == b"too large":
            limits.check_alone(int(answer[1]))
        if answer[0] == b"full":
            raise _full(limits, answer)

    def delete(self, document_id: str) -> None:
        if self._run("DELETE", validation.check_id(document_id)) == 0:
            raise validation.unknown(document_id)

    def claim(self, worker: str, lease_seconds: float, models: Collection[str]) -> Document | None:
        validation.check_lease(lease_seconds)
        lease, longest = (
            round(seconds * 1_000_000) for seconds in (lease_seconds, validation.latest_end(0, lease_seconds))
        )
        answer = self._run("CLAIM", worker, lease, longest, *models)
        return None if answer[0] == b"none" else _document(answer[1])

    def renew(self, document_id: str, worker: str, lease_seconds: float) -> bool:
        validation.check_lease(lease_seconds)
        answer = self._run("RENEW", validation.check_id(document_id), worker, round(lease_seconds * 1_000_000))
        if answer[0] == b"unknown":
            raise validation.unknown(document_id)
        return bool(answer[0] == b"ok")

    def expire(self, older_than: float, models: Collection[str]) -> int:
        total = 0
        while True:
            deleted = int(self._run("EXPIRE", repr(float(older_than)), BATCH, *models))
            total += deleted
            if deleted < BATCH:
                return total

    def count(self) -> int:
        return int(self._run("COUNT"))

    def page(
        self, owner: str | None, limit: int, after: Cursor | None = None, state: DocumentState | None = None
    ) -> list[Document]:
        validation.check_page(limit)
        position = [] if after is None else [repr(float(after.created)), after.document_id]
        key = "documents" if state is None else f"state:{state}"
        documents = self._run("PAGE", key if owner is None else f"{key}:{owner}", limit, *position)
        return [_document(fields) for fields in documents if fields[0] is not None]

    def versions(self, document_ids: Collection[str]) -> dict[str, int]:
        names = list(document_ids)
        with self._errors(), self._client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hget(_document_key(name), "version")
            versions = pipe.execute()
        return {name: int(version) for name, version in zip(names, versions, strict=True) if version is not None}

    def changes(self, document_id: str, after: ChangePlace, limit: int) -> Changes:
        validation.check_changes(limit)
        validation.check_id(document_id)
        fields, places, bodies, left = self._read(document_id, "CHANGES", document_id, *after, limit)
        indices, versions = map(int, places[::2]), (int(float(version)) for version in places[1::2])
        changed = map(ChangePlace, versions, indices)
        return Changes(_document(fields), list(zip(changed, map(decode_sentence, bodies), strict=True)), left == 0)

    def rename_owner(self, former: str, owner: str) -> None:
        if former == owner:
            return
        while int(self._run("RENAME", former, owner, BATCH)) == BATCH:
            pass
        self.glossaries.rename_owner(former, owner)

    def _upgrade_document(self, document_id: str, owner: str) -> None:
        self._run("UPGRADE", document_id, owner, GROWTH)

    def close(self) -> None:
        self._is_closed = True
        self._client.close()

    def _run(self, script: str, *arguments: str | int) -> Any:
        with self._errors():
            return self._scripts[script](args=(redis_common.PREFIX, *arguments))

    def _read(self, document_id: str, script: str, *arguments: str | int) -> list[Any]:
        """The result of a script that reads. Raises UnknownDocument, and StoreError when sentences are missing."""
        answer = self._run(script, *arguments)
        if answer[0] == b"unknown":
            raise validation.unknown(document_id)
        if answer[0] == b"lost":
            raise StoreError(
                f"context store {self._url}: sentences of document {validation.shown(document_id)} are gone: set "
                "Redis' maxmemory-policy to noeviction"
            )
        return list(answer[1:])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise redis-py's errors as StoreError, with the server's address."""
        if self._is_closed:
            raise StoreError(f"context store {self._url}: it was closed")
        try:
            yield
        except (redis.RedisError, NewerFormat) as error:
            raise StoreError(f"context store {self._url}: {error}") from error


def _document_key(document_id: str) -> str:
    return f"{redis_common.PREFIX}document:{document_id}"


def _range(start: int, end: int | None) -> tuple[int, int]:
    """The first and the last index of LRANGE."""
    if end is None:
        return start, -1
    return (start, end - 1) if end > start else (1, 0)


def _document(fields: Sequence[bytes]) -> Document:
    """A document from its FIELDS: claims and changes of owners write only the fields after its body."""
    state = cast(DocumentState, fields[1].decode())
    version, owner = int(fields[2]), fields[3].decode()
    return dataclasses.replace(decode_document(fields[0]), state=state, version=version, owner=owner)


def _full(limits: DocumentLimits, answer: Sequence[bytes | None]) -> StoreFull:
    _, bound, oldest = answer
    assert bound is not None
    return limits.full(cast(Bound, bound.decode()), None if oldest is None else float(oldest))


def _arguments(
    document: Document, expected_version: int, limits: DocumentLimits, sentences: Sequence[Sentence]
) -> list[str | int]:
    """The arguments of CREATE and UPDATE, in their order."""
    arguments: list[str | int] = [
        document.id,
        document.version,
        document.state,
        repr(float(document.created)),
        repr(float(document.touched)),
        encode(document),
        document.num_sentences,
        document.model,
        GROWTH,
        document.owner,
        expected_version,
    ]
    values = (limits.of(bound) for bound in BOUNDS)
    arguments += [NO_LIMIT if limit is None else limit for limit in values]
    for sentence in sentences:
        arguments += [sentence.index, encode(sentence)]
    return arguments
