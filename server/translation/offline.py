"""Translates lines of text in order and many at a time, for programs without an event loop."""

import queue
import threading
from collections import deque
from collections.abc import Iterable, Iterator

from server.engine.request import Overloaded, SearchOptions
from server.translation.assembly import TextTranslation
from server.translation.translator import PendingText, Translator

LINES_AHEAD = 256
"""Lines that are read and queued ahead of the oldest unwritten line."""


class LineReader:
    """Reads lines ahead in a thread, so that a finished translation never waits for the next line."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._ahead: queue.Queue[str | Exception] = queue.Queue(LINES_AHEAD)
        threading.Thread(target=self._read, args=(lines,), daemon=True, name="reader").start()

    def next(self, wait: bool) -> str:
        """The next line without its line break. Raises EOFError at the end, queue.Empty if `wait` is False and no line
        has been read yet, and exceptions of reading."""
        line = self._ahead.get(block=wait)
        if isinstance(line, Exception):
            raise line
        return line

    def _read(self, lines: Iterable[str]) -> None:
        try:
            for line in lines:
                self._ahead.put(line.removesuffix("\n"))
            self._ahead.put(EOFError())
        except Exception as error:
            self._ahead.put(error)


def translate_lines(translator: Translator, lines: Iterable[str], options: SearchOptions) -> Iterator[TextTranslation]:
    """Translations of `lines` in their order, each as soon as it is finished. At most LINES_AHEAD are in flight; they
    are cancelled when the generator is closed."""
    reader = LineReader(lines)
    pending: deque[PendingText] = deque()
    is_at_end = False
    try:
        while pending or not is_at_end:
            if is_at_end or len(pending) == LINES_AHEAD:
                yield pending.popleft().wait()
                continue
            try:
                line = reader.next(wait=not pending)
            except EOFError:
                is_at_end = True
            except queue.Empty:
                yield pending.popleft().wait()
            else:
                yield from _submit(translator, line, options, pending)
    finally:
        for text in pending:
            text.cancel()


def _submit(
    translator: Translator, line: str, options: SearchOptions, pending: deque[PendingText]
) -> Iterator[TextTranslation]:
    """Queue a line; while the queue is full, wait for the oldest lines."""
    while True:
        try:
            pending.append(translator.submit_text(line, options))
            return
        except Overloaded:
            if not pending:
                raise
        yield pending.popleft().wait()
