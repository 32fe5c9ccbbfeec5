"""`ringmt mcp`: tools for language models over standard input and output, by a model in this process or by a server."""

import argparse
import asyncio
import contextlib
import dataclasses
import importlib.util
import logging.config
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from server.artifact.discovery import find_models
from server.cli.command import add_setting_flags, settings_of
from server.runtime.setting_fields import SettingsError
from server.settings import SETTINGS, Settings
from server.telemetry.logs import log_config

if TYPE_CHECKING:
    import httpx2

    from server.api.serving.server_state import ServerState
    from server.cli.mcp_forwarding import Forwarding

_NAMES = (
    "models", "load_models", "max_model_memory", "default_beam_size", "max_texts", "max_text_chars", "max_total_chars",
    "max_body_bytes", "request_timeout", "pivot", "context_cache_bytes", "log_level", "log_format",
)  # fmt: skip
_SETTINGS = tuple(setting for setting in SETTINGS if setting.is_engine or setting.name in _NAMES)


class McpCommand:
    """`ringmt mcp`."""

    help = (
        "Give a language model tools that translate: an MCP server over standard input and output, which desktop "
        "clients start. It loads the models itself, or forwards to a running server (--url). Messages go to standard "
        "error."
    )

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        parser.add_argument("--url", metavar="URL", help="a running RingMT server, such as http://127.0.0.1:8000")
        parser.add_argument("--key-file", type=Path, metavar="FILE", help="with --url: file with the server's API key")
        add_setting_flags(parser, _SETTINGS)

    def run(self, args: argparse.Namespace, /) -> int:
        if importlib.util.find_spec("mcp") is None:
            raise ValueError("'ringmt mcp' needs a package that is not installed: pip install 'ringmt[mcp]'")
        settings = settings_of(args, _SETTINGS)
        if args.url is None:
            if args.key_file is not None:
                raise SettingsError("--key-file is for the server of --url")
            find_models(settings.models)  # a wrong path fails at once
            return _run(_in_process(settings), settings)
        flags = [setting.flag for setting in _SETTINGS if getattr(args, setting.name) is not None]
        for flag in flags:
            if not flag.startswith("--log-"):
                raise SettingsError(
                    f"{flag} is for models in this process; the server of --url has settings of its own"
                )
        key = None if args.key_file is None else args.key_file.read_text(encoding="utf-8").strip()
        from server.cli.mcp_forwarding import client_of_url

        return _run(_forwarding(client_of_url(args.url, key)), settings)


def _run(opened: contextlib.AbstractAsyncContextManager["Forwarding"], settings: Settings) -> int:
    """Serve the client on standard input and output until it closes them."""

    async def serve() -> None:
        async with opened as forwarding:
            await forwarding.serve()

    logging.config.dictConfig(log_config(settings.log_level, settings.log_format))
    # A thread waits for the next line and would keep the process alive; nothing has to be saved.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve())
    return 0


@contextlib.asynccontextmanager
async def _forwarding(client: "httpx2.AsyncClient") -> AsyncIterator["Forwarding"]:
    from server.cli.mcp_forwarding import Forwarding

    async with client:
        yield Forwarding(client)


@contextlib.asynccontextmanager
async def _in_process(settings: Settings) -> AsyncIterator["Forwarding"]:
    """The server's application without a port. Its models are loaded while the client begins: clients do not wait long
    for the first answer."""
    from server.api.app import create_app
    from server.cli.mcp_forwarding import Forwarding, client_of_app

    # Who starts this process may use it, and it takes no documents of a store that others share.
    app = create_app(dataclasses.replace(settings, api_keys="", context_store="memory://"))
    state: ServerState = app.state.server

    async def ready() -> None:
        assert state.loading is not None
        await asyncio.shield(state.loading)
        if state.failure is not None:
            raise ValueError(state.failure)

    async with app.router.lifespan_context(app), client_of_app(app) as client:
        yield Forwarding(client, ready)


MCP = McpCommand()
