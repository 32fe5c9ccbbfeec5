"""What a command of `ringmt` is. Packages add theirs under the entry-point group `ringmt.commands`."""

import argparse
from typing import Protocol

ENTRY_POINT_GROUP = "ringmt.commands"


class Command(Protocol):
    """An object (a module will do) behind an entry point whose name is the command's."""

    @property
    def help(self) -> str:
        """What the command does, for `ringmt COMMAND --help`."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        """Declare flags."""

    def run(self, args: argparse.Namespace, /) -> int:
        """Do it; the exit status. A ValueError or OSError is shown to the user as one line."""
