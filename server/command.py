"""The interface of a command of `ringmt`. Packages add commands under the entry-point group `ringmt.commands`."""

import argparse
import os
from collections.abc import Iterable
from typing import Protocol

from server.settings import Knob, Settings

ENTRY_POINT_GROUP = "ringmt.commands"


class Command(Protocol):
    """An object (a module will do) behind an entry point whose name is the command's."""

    @property
    def help(self) -> str:
        """What the command does, for `ringmt COMMAND --help`."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Declare the command's flags."""

    def run(self, args: argparse.Namespace, /) -> int:
        """Run the command; returns the exit status. A ValueError or OSError is shown to the user as one line."""


def add_knobs(parser: argparse.ArgumentParser, knobs: Iterable[Knob]) -> None:
    """Add a flag for every knob. Values stay text until Settings reads them. A list may be given in several flags."""
    for knob in knobs:
        meaning = f"{knob.meaning} (default {knob.default}; {knob.env})"
        action = "append" if knob.is_list else "store"
        parser.add_argument(knob.flag, action=action, metavar=knob.choices, help=meaning.replace("%", "%%"))


def settings_of(args: argparse.Namespace, knobs: Iterable[Knob]) -> Settings:
    """The settings: flags win over the environment, which wins over defaults. Raises SettingsError."""
    given = {knob.name: getattr(args, knob.name) for knob in knobs}
    return Settings.load(
        os.environ, {name: ",".join(value) if isinstance(value, list) else value for name, value in given.items()}
    )
