"""The peer of `bench http --peer fxtranslate`: fxtranslate behind FastAPI, with a process per core.

Started with a folder of Firefox's files and a port. Requests wait in one queue for the next free process.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from loadtest.bench.fxtranslate_peer import pool_of, translate_all


class PeerRequest(BaseModel):
    text: str


def create_peer(pool: Executor, workers: int) -> FastAPI:
    """POST /v1/translate {"text"} -> {"text"}: one sentence, translated by the processes of the pool."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(pool, translate_all, ["Hello."]) for _ in range(4 * workers)))
        yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/readyz")
    async def ready() -> dict[str, bool]:
        return {"ready": True}

    @app.post("/v1/translate")
    async def translate(request: PeerRequest) -> dict[str, str]:
        [text] = await asyncio.get_running_loop().run_in_executor(pool, translate_all, [request.text])
        return {"text": text}

    return app


def main() -> None:
    folder, port, workers = Path(sys.argv[1]), int(sys.argv[2]), os.cpu_count() or 1
    with pool_of(folder, True, workers) as pool:
        uvicorn.run(create_peer(pool, workers), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
