"""`ringmt` whose processes look around once a second, and not ten times."""

import asyncio

from server.cli.main import main
from server.cli.worker_server import WorkerServer

if __name__ == "__main__":
    tick = WorkerServer.on_tick

    async def slow_tick(self: WorkerServer, counter: int) -> bool:
        await asyncio.sleep(0.9)
        return await tick(self, counter)

    WorkerServer.on_tick = slow_tick  # type: ignore[method-assign]
    raise SystemExit(main())
