"""What makes the processes of a server one: changes in one of them reach all, and metrics are those of all."""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable

from server.api.serving.model_registry import ModelRegistry
from server.api.serving.shared_models import SharedModels
from server.runtime.processes.peers import Peers
from server.runtime.processes.worker_process import WorkerProcess
from server.telemetry.merged_metrics import Snapshot, counts_of, decode, encode, exposition, merged, snapshot
from server.telemetry.metrics import Metrics

KEYS, METRICS = "keys", "metrics"
METRICS_SECONDS = 2.0
"""Seconds that another process has to send its metrics; then its counters are shown as they were seen last."""
KEYS_SECONDS = 5.0


class ProcessGroup:
    """Use it from one event loop."""

    def __init__(
        self,
        process: WorkerProcess,
        models: ModelRegistry,
        metrics: Metrics,
        read_keys: Callable[[], Awaitable[None]],
    ) -> None:
        """`read_keys` reads the keys of the store that have changed."""
        self.process, self._metrics, self._read_keys = process, metrics, read_keys
        self.peers = Peers(process.folder, process.slot, process.count)
        self.models = SharedModels(models, self.peers)
        self._before = counts_of(self._seen_last(process.slot))
        """The counters of the workers before this one in its slot, so that counters never fall."""
        self._keeping = asyncio.Lock()
        self.peers.on_request(KEYS, self._on_keys)
        self.peers.on_request(METRICS, self._on_metrics)

    async def join(self) -> None:
        """Join the processes of the server, with the models that the others serve. Raises ApiError if one of them
        cannot be loaded."""
        await self.peers.open()
        await self.models.follow()

    def close(self) -> None:
        """Stop answering the other processes; the counters of this process stay."""
        self._kept(snapshot(self._metrics.registry))
        self.peers.close()

    async def announce_keys(self) -> None:
        """Let all other processes accept what has changed in the store."""
        await self.peers.request_all(KEYS, seconds=KEYS_SECONDS)

    async def _on_keys(self, request: bytes) -> bytes:
        await self._read_keys()
        return b""

    async def _on_metrics(self, request: bytes) -> bytes:
        return await self._own_metrics()

    async def exposition(self) -> bytes:
        """The metrics of all processes, in Prometheus' text format."""
        answers = await self.peers.request_all(METRICS, seconds=METRICS_SECONDS)
        return await asyncio.to_thread(self._exposition, await self._own_metrics(), answers)

    def _exposition(self, own: bytes, answers: dict[int, bytes]) -> bytes:
        known = [decode(own), *map(decode, answers.values())]
        ended = [counts_of(self._seen_last(slot)) for slot in self.peers.others if slot not in answers]
        return exposition(merged([*known, *ended]))

    async def _own_metrics(self) -> bytes:
        """The metrics of this process and of those before it in its slot. They are written before they are shown, so
        that they do not fall when this process is killed."""
        async with self._keeping:  # in the order in which they were read
            return await asyncio.to_thread(self._kept, snapshot(self._metrics.registry))

    def _kept(self, metrics: Snapshot) -> bytes:
        encoded = encode(merged([metrics, self._before]))
        file = self.process.folder / f"{self.process.slot}.metrics"
        temporary = file.with_suffix(".new")
        temporary.write_bytes(encoded)
        os.replace(temporary, file)
        return encoded

    def _seen_last(self, slot: int) -> Snapshot:
        with contextlib.suppress(FileNotFoundError):
            return decode((self.process.folder / f"{slot}.metrics").read_bytes())
        return {}
