"""fxtranslate, an engine for Firefox's models: one sentence at a time, by beam 1, in as many processes as cores.

Its translator belongs to the thread that made it and holds Python's lock while it translates.
"""

import importlib
import importlib.util
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import sentencepiece

from server.runtime.process_memory import resident_bytes

BEAM = 1


class Translator(Protocol):
    def translate(self, text: str) -> str: ...


def target_length(source_length: int) -> int:
    """Tokens at which it ends a translation, for a source of so many pieces, EOS included."""
    return min(2 * source_length + 4, 256)


def check_installed() -> None:
    """Raise ValueError where fxtranslate is not installed."""
    if importlib.util.find_spec("fxtranslate") is None:
        raise ValueError("the peer fxtranslate is not installed: pip install fxtranslate")


def load_translator(folder: Path, shortlist: bool) -> Translator:
    """The translator of a folder as Firefox keeps it."""
    module: Any = importlib.import_module("fxtranslate")
    [vocabulary] = folder.glob("vocab*.spm")
    [model] = folder.glob("model*.bin")
    [listed] = folder.glob("lex*.bin")
    words = vocabulary.read_bytes()
    translator: Translator = module.Translator(
        model.read_bytes(), words, words, listed.read_bytes() if shortlist else None
    )
    return translator


class Worker:
    """The translator of a process of the pool."""

    translator: Translator
    growth: int

    @classmethod
    def start(cls, folder: Path, shortlist: bool) -> None:
        importlib.import_module("fxtranslate")
        before = resident_bytes()
        cls.translator = load_translator(folder, shortlist)
        cls.growth = -before


def translate_all(texts: Sequence[str]) -> list[str]:
    return [Worker.translator.translate(text) for text in texts]


def timed(texts: Sequence[str]) -> tuple[list[str], float]:
    """Translations, and the seconds of processor time that they took."""
    started = time.process_time()
    return translate_all(texts), time.process_time() - started


def grown(_: int) -> int:
    return Worker.growth + resident_bytes()


def pool_of(folder: Path, shortlist: bool, workers: int) -> ProcessPoolExecutor:
    """Processes with a translator each. Raises ValueError where fxtranslate is not installed."""
    check_installed()
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, Worker.start, (folder, shortlist))


class FxTranslateEngine:
    """Sentences of word ids, which it is given as text."""

    def __init__(self, folder: Path, workers: int, shortlist: bool) -> None:
        [vocabulary] = folder.glob("vocab*.spm")
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        self.workers, self.worker_seconds = workers, 0.0
        self.pool = pool_of(folder, shortlist, workers)

    def translate(self, sources: list[tuple[int, ...]], beam: int, target_length: int) -> list[str]:
        """Translate all sources, an equal share in every process. Raises ValueError for another beam than 1."""
        if beam != BEAM:
            raise ValueError(f"fxtranslate searches by beam {BEAM}, not {beam}: write --beam {BEAM}")
        texts = [self.pieces.decode(list(source[:-1])) for source in sources]
        share = -(-len(texts) // self.workers)
        shares = [texts[start : start + share] for start in range(0, len(texts), share)]
        parts = list(self.pool.map(timed, shares))
        self.worker_seconds += sum(seconds for _, seconds in parts)
        return [text for translations, _ in parts for text in translations]

    def worker_bytes(self) -> int:
        """Memory of the processes with their models."""
        return sum(self.pool.map(grown, range(1))) * self.workers

    def close(self) -> None:
        self.pool.shutdown()
