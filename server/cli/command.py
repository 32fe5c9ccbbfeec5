"""The interface of a command of `ringmt`. Packages add commands under the entry-point group `ringmt.commands`."""

import argparse
import os
from collections.abc import Iterable
from typing import Protocol

from server.runtime.setting_fields import Setting
from server.settings import Settings

ENTRY_POINT_GROUP = "ringmt.commands"


class Command(Protocol):
    """The object (or module) of an entry point, whose name is the command's name."""

    @property
    def help(self) -> str:
        """The description for `ringmt COMMAND --help`."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the command's flags to its parser."""

    def run(self, args: argparse.Namespace, /) -> int:
        """Run the command; returns the exit status. A ValueError or OSError is printed as one line."""


def add_setting_flags(parser: argparse.ArgumentParser, settings_table: Iterable[Setting]) -> None:
    """Add a flag for every setting. Values remain text until Settings.load; a list may be several flags."""
    for setting in settings_table:
        meaning = f"{setting.meaning} (default {setting.default}; {setting.env})"
        action = "append" if setting.is_list else "store"
        parser.add_argument(setting.flag, action=action, metavar=setting.choices, help=meaning.replace("%", "%%"))


def settings_of(args: argparse.Namespace, settings_table: Iterable[Setting]) -> Settings:
    """The settings from flags, else from the environment, else the defaults. Raises SettingsError."""
    values = {setting.name: getattr(args, setting.name) for setting in settings_table}
    return Settings.load(
        os.environ, {name: ",".join(value) if isinstance(value, list) else value for name, value in values.items()}
    )
