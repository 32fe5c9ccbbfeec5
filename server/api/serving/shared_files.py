"""Room for an owner's next file, where the files that leave it are in other processes of the server."""

import asyncio
import contextlib
import json
from typing import NamedTuple

from server.api.serving.finished_files import FinishedFiles
from server.runtime.processes.peers import PeerGone, Peers

FINISHED, FORGET = "finished files", "forget files"
ASK_SECONDS = 5.0


class Finished(NamedTuple):
    """A finished file: when it was finished (time.monotonic(), the same clock in all processes), and its bytes."""

    at: float
    num_bytes: int


class SharedFiles:
    """Makes room in other processes for an owner's next file. Use it from one event loop."""

    def __init__(self, files: FinishedFiles, peers: Peers) -> None:
        self._files, self._peers = files, peers
        peers.on_request(FINISHED, self._on_finished)
        peers.on_request(FORGET, self._on_forget)

    async def free_space(self, owner: str, num_bytes: int) -> None:
        """Remove the oldest finished files of the owner, wherever they are, as far as the next one needs it; none if
        that does not help."""
        if self._files.fits(owner, 1, num_bytes):
            return
        answers = await self._peers.request_all(FINISHED, owner.encode(), ASK_SECONDS)
        found = [(self._peers.slot, Finished(*file)) for file in self._files.finished(owner)]
        found += [(slot, Finished(*file)) for slot, answer in answers.items() for file in json.loads(answer)]
        found.sort(key=lambda each: each[1].at)
        freed = 0
        for number, (_, file) in enumerate(found, 1):
            freed += file.num_bytes
            if self._files.fits(owner, 1 - number, num_bytes - freed):
                slots = {slot for slot, _ in found[:number]} - {self._peers.slot}
                request = json.dumps([owner, file.at]).encode()
                await asyncio.gather(*(self._forget(slot, request) for slot in slots))
                self._files.forget(owner, file.at)
                return

    async def _forget(self, slot: int, request: bytes) -> None:
        with contextlib.suppress(PeerGone, TimeoutError):
            async with asyncio.timeout(ASK_SECONDS):
                await self._peers.request(slot, FORGET, request)

    async def _on_finished(self, request: bytes) -> bytes:
        return json.dumps(list(self._files.finished(request.decode()))).encode()

    async def _on_forget(self, request: bytes) -> bytes:
        owner, at = json.loads(request)
        self._files.forget(owner, at)
        return b""
