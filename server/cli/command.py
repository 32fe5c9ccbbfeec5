"""The interface of a command of `ringmt`. Packages add commands under the entry-point group `ringmt.commands`."""

import argparse
import os
from collections.abc import Iterable
from typing import Protocol

from server.settings import Setting, Settings

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


def add_setting_flags(parser: argparse.ArgumentParser, settings_table: Iterable[Setting]) -> None:
    """Add a flag for every setting. Values stay text until Settings reads them; a list may be several flags."""
    for setting in settings_table:
        meaning = f"{setting.meaning} (default {setting.default}; {setting.env})"
        action = "append" if setting.is_list else "store"
        parser.add_argument(setting.flag, action=action, metavar=setting.choices, help=meaning.replace("%", "%%"))


def settings_of(args: argparse.Namespace, settings_table: Iterable[Setting]) -> Settings:
    """The settings: flags win over the environment, which wins over defaults. Raises SettingsError."""
    given = {setting.name: getattr(args, setting.name) for setting in settings_table}
    return Settings.load(
        os.environ, {name: ",".join(value) if isinstance(value, list) else value for name, value in given.items()}
    )
