"""`ringmt serve`: one process, every setting a flag or a RINGMT_ variable."""

import argparse
import os
import sys
from collections.abc import Iterable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from server.api.app import create_app
from server.api.state import ServerState
from server.settings import KNOBS, Knob, Settings
from server.translator import find_artifacts


def add_knobs(parser: argparse.ArgumentParser, knobs: Iterable[Knob]) -> None:
    """A flag for every knob; values stay text until Settings reads them with the environment's."""
    for knob in knobs:
        meaning = f"{knob.meaning} (default {knob.default}; {knob.env})"
        parser.add_argument(knob.flag, metavar=knob.choices, help=meaning.replace("%", "%%"))


def settings_of(args: argparse.Namespace, knobs: Iterable[Knob]) -> Settings:
    """Flags over the environment over defaults. Raises SettingsError."""
    return Settings.load(os.environ, {knob.name: getattr(args, knob.name) for knob in knobs})


SWITCH_INTERVAL = 0.0005
"""Seconds after which a Python thread lets another run. A decoding thread needs the interpreter for some microseconds
a step; with Python's own 5 ms it waits for whole requests being read or answered (4% of the throughput)."""


class DrainingServer(uvicorn.Server):
    """Refuses new requests from the signal on, and ends when the models cannot be loaded."""

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        super().__init__(config)
        self._state = state

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._state.drain()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        return self._state.failure is not None or await super().on_tick(counter)


class ServeCommand:
    """`ringmt serve`."""

    help = "Answer translation requests over HTTP. SIGTERM lets requests in flight finish within --drain-timeout."

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        add_knobs(parser, KNOBS)

    def run(self, args: argparse.Namespace, /) -> int:
        settings = settings_of(args, KNOBS)
        find_artifacts(settings.models)  # A wrong path is told before the port is taken.
        sys.setswitchinterval(SWITCH_INTERVAL)
        app = create_app(settings)
        state: ServerState = app.state.server
        DrainingServer(config_of(settings, app), state).run()
        if state.failure is not None:
            print(f"ringmt: {state.failure}", file=sys.stderr)
            return 1
        return 0


def config_of(settings: Settings, app: FastAPI) -> uvicorn.Config:
    """uvicorn's configuration: one process, the access log only when debugging."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_level=settings.log_level,
        access_log=settings.log_level == "debug",
        server_header=False,
        timeout_graceful_shutdown=max(1, round(settings.drain_timeout)),
    )


SERVE = ServeCommand()
