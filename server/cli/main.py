"""`ringmt`: the command line. Commands of other packages are found through their entry points."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

from server.cli.command import ENTRY_POINT_GROUP, Command
from server.cli.process_shape import blas_threads
from server.runtime.nearest_name import nearest
from server.telemetry.metrics import package_version

COMMANDS = {
    "serve": "answer translation requests over HTTP",
    "key": "make, list, rotate and revoke API keys",
    "translate": "translate standard input to standard output, line by line",
    "translate-corpus": "translate a large file with the help of several servers",
    "mcp": "give language models tools that translate (MCP)",
    "train": "train a model from a recipe",
    "make-context-data": "make documents whose pronouns and professions need the sentence before",
    "make-word-data": "put the nouns of a dictionary into real sentences",
    "make-everyday-data": "write phrases, places, times and amounts as people use them every day",
    "lexicon": "learn which words translate which, for shortlists",
    "average": "average the weights of runs that continued one another",
    "zoo": "keep finished runs as small folders",
    "evaluate": "translate a test set and score it",
    "contrastive-accuracy": "how often a model prefers right to wrong translations, with context and without",
    "export": "write a trained model as an artifact that can be served",
    "unpack": "take the weights out of an artifact, to train on with",
    "shortlist": "learn a shortlist from text that an artifact translates, and add it to the artifact",
    "distil": "train a student on what an artifact translates",
    "import": "turn a checkpoint that others trained into an artifact",
    "models": "list the models of other programs on this machine that can be imported",
    "bench": "measure how fast an artifact translates on this machine",
    "compare": "set trained models side by side, with the uncertainty of every difference",
}
"""Names and meanings for the overview, which imports no command."""
SERVER_COMMANDS = {
    name: EntryPoint(name, value, ENTRY_POINT_GROUP)
    for name, value in (
        ("serve", "server.cli.serve:SERVE"),
        ("key", "server.cli.key:KEY"),
        ("translate", "server.cli.translate:TRANSLATE"),
        ("translate-corpus", "server.cli.translate_corpus:CORPUS"),
        ("mcp", "server.cli.mcp:MCP"),
    )
}
"""Commands of the server, which also run where the package is not installed; the others are in pyproject.toml."""


class UsageError(ValueError):
    """A command line that cannot be run."""


class Parser(argparse.ArgumentParser):
    """The error for an unknown option suggests the nearest known one; options cannot be abbreviated."""

    def __init__(self, prog: str, description: str) -> None:
        super().__init__(prog=prog, description=description, allow_abbrev=False)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        args, unknown = self.parse_known_args(arguments)
        for argument in unknown:
            name = argument.partition("=")[0]
            known = [option for option in self._option_string_actions if option.startswith("--")]
            self.error(f"unknown {'option' if name[:1] == '-' else 'argument'} '{name}': {nearest(name, known)}")
        return args


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status. 2: wrong usage, 1: failed, 130: interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print(_overview())
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        print(f"ringmt {package_version()}")
        return 0
    if words[0] == "serve":
        os.environ.update(blas_threads(words[1:], os.environ))
    try:
        command = load_command(words[0])
        parser = Parser(f"ringmt {words[0]}", command.help)
        command.add_arguments(parser)
        return command.run(parser.parse(words[1:]))
    except BrokenPipeError:
        # The reader of the output has closed it; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except UsageError as error:
        return _print_error(error, 2)
    except (ValueError, OSError) as error:
        return _print_error(error, 1)


def load_command(name: str) -> Command:
    """The command of that name. Raises UsageError that names the nearest command, or the extra to install."""
    if name in SERVER_COMMANDS:
        server_command: Command = SERVER_COMMANDS[name].load()
        return server_command
    installed = {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
    if name not in installed:
        if name in COMMANDS:
            raise UsageError(_missing(name))
        raise UsageError(f"unknown command '{name}': {nearest(name, COMMANDS.keys() | installed.keys())}")
    try:
        command: Command = installed[name].load()
    except ImportError as error:
        raise UsageError(f"{_missing(name)} ({error})") from error
    return command


def _missing(name: str) -> str:
    extra = "train" if name in COMMANDS else name
    return f"'ringmt {name}' needs packages that are not installed: pip install 'ringmt[{extra}]'"


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {meaning}" for name, meaning in COMMANDS.items()]
    head = "usage: ringmt COMMAND [options]\n\nA neural machine translation server.\n\ncommands:"
    return "\n".join([head, *lines, "", "`ringmt COMMAND --help` lists the options of a command."])


def _print_error(error: Exception, status: int) -> int:
    print(f"ringmt: {error}", file=sys.stderr)
    return status
