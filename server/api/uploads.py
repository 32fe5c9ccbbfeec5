"""Uploaded files that are being translated or wait to be fetched, for APIs that give them an id and a key."""

import asyncio
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from server.api.errors import ApiError
from server.file_translation import TranslatedFile


@dataclass(frozen=True)
class Upload:
    """`id` and `key` are what the client was given; `work` ends with the translated file."""

    id: str
    key: str
    work: "asyncio.Task[TranslatedFile]"


class Uploads:
    """At most `limit` uploads; those that are done make room for new ones, the oldest first. Use it from one event
    loop."""

    def __init__(self, limit: int) -> None:
        self._uploads: OrderedDict[str, Upload] = OrderedDict()
        self._limit = limit

    def check_room(self) -> None:
        """Make room for one more. Raises ApiError (429) when all are being translated."""
        if len(self._uploads) >= self._limit:
            done = [one for one in self._uploads.values() if one.work.done()]
            if not done:
                raise ApiError("overloaded", "too many files are being translated; try again later")
            self.remove(done[0])

    def add(self, work: "asyncio.Task[TranslatedFile]") -> Upload:
        upload = Upload(secrets.token_hex(16).upper(), secrets.token_hex(32).upper(), work)
        self._uploads[upload.id] = upload
        return upload

    async def stop(self) -> None:
        """Cancel what is being translated."""
        works = [one.work for one in self._uploads.values()]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)

    def find(self, upload_id: str, key: str) -> Upload:
        """Raises ApiError (404) for an unknown id and for a wrong key alike."""
        upload = self._uploads.get(upload_id.upper())
        if upload is None or not hmac.compare_digest(upload.key.encode(), key.upper().encode("utf-8", "replace")):
            raise ApiError(
                "not_found", "Document not found: it never existed, has another document_key, or was downloaded already"
            )
        return upload

    def remove(self, upload: Upload) -> None:
        self._uploads.pop(upload.id, None)
