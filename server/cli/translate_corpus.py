"""`ringmt translate-corpus`: translates a large file line by line, spread over several servers."""

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from tqdm import tqdm

from server.corpus.chunks import LINES, chunks_of
from server.corpus.output import Output, RunIdentity
from server.corpus.remote import CorpusOptions, ServerFault
from server.corpus.spread import NoServerAvailable, Spread

IN_FLIGHT = 4
PATIENCE = 600.0
BLOCK_BYTES = 2**20
"""Bytes that are read at a time to count lines."""


class CorpusCommand:
    """`ringmt translate-corpus`."""

    help = (
        "Translate a large file line by line with several servers: every line once, in order. After a stop or a kill, "
        "the same command continues; when a server is unreachable the others take its lines, and it is used "
        "again when it is back. "
        "Example: ringmt translate-corpus book.en --output book.de --servers http://a:8000 http://b:8000"
    )

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="text with a sentence, or any text, on every line")
        parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="where the translation goes")
        parser.add_argument("--servers", nargs="+", required=True, metavar="URL", help="addresses of RingMT servers")
        parser.add_argument("--model", metavar="NAME", help="one of the servers' models (default: the first that fits)")
        parser.add_argument("--source", metavar="LANGUAGE", help="language of the input (needed among several)")
        parser.add_argument("--target", metavar="LANGUAGE", help="language to translate into (likewise)")
        parser.add_argument("--beam-size", type=_count, metavar="N", help="width of the search (default: the servers')")
        parser.add_argument("--max-length", type=_count, metavar="N", help="tokens of a translated sentence at most")
        parser.add_argument("--key-file", type=Path, metavar="FILE", help="file with the API key of the servers")
        parser.add_argument(
            "--in-flight", type=_count, default=IN_FLIGHT, metavar="N",
            help=f"requests of {LINES} lines at a time for each server (default {IN_FLIGHT})",
        )  # fmt: skip
        parser.add_argument(
            "--patience", type=float, default=PATIENCE, metavar="SECONDS",
            help=f"end when no server has answered for so long (default {PATIENCE:g})",
        )  # fmt: skip

    def run(self, args: argparse.Namespace, /) -> int:
        key = args.key_file.read_text(encoding="utf-8").strip() if args.key_file is not None else None
        chosen = {name: getattr(args, name) for name in ("source", "target", "model", "beam_size", "max_length")}
        output = Output(args.output, RunIdentity.of(args.file, chosen))
        try:
            if not output.is_finished:
                options = CorpusOptions(**chosen, key=key)
                spread = Spread(args.servers, options, output.model, args.in_flight, args.patience, _print_message)
                _translate(args.file, output, spread)
            output.finish()
        except (ServerFault, NoServerAvailable) as error:
            raise ValueError(
                f"{error}. {output.num_lines} lines are done; run the same command again to continue"
            ) from None
        finally:
            output.close()
        return 0


def _translate(path: Path, output: Output, spread: Spread) -> None:
    output.set_model(spread.model())
    with (
        path.open("rb") as content,
        _bar(path, output.num_lines) as progress,
    ):
        lines = LineReader(content)
        remaining = itertools.islice(lines, output.num_lines, None)
        for chunk, translations in spread.translate(chunks_of(remaining, output.num_lines)):
            output.append(translations)
            output.num_lines += len(chunk.lines)
            progress.update(len(chunk.lines))
    if lines.num_invalid:
        _print_message(
            f"{lines.num_invalid} lines were no UTF-8: their invalid bytes were replaced by \N{REPLACEMENT CHARACTER}"
        )


def _bar(path: Path, num_done: int) -> "tqdm[NoReturn]":
    """The progress of the lines, with the time that is left; nothing where standard error is no terminal."""
    is_shown = sys.stderr.isatty()
    total = _num_lines(path) if is_shown else None
    return tqdm(unit=" lines", total=total, initial=num_done, file=sys.stderr, disable=not is_shown)


def _num_lines(path: Path) -> int:
    count, last = 0, b"\n"
    with path.open("rb") as content:
        while block := content.read(BLOCK_BYTES):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


class LineReader:
    """Lines of a file without their line breaks, read once; `num_invalid` of them were not UTF-8."""

    def __init__(self, content: Iterator[bytes]) -> None:
        self._content = content
        self.num_invalid = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._content:
            text = line.removesuffix(b"\n")
            try:
                yield text.decode("utf-8")
            except UnicodeDecodeError:
                self.num_invalid += 1
                yield text.decode("utf-8", errors="replace")


def _print_message(message: str) -> None:
    tqdm.write(f"ringmt: {message}", file=sys.stderr)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError(text)
    return count


CORPUS = CorpusCommand()
