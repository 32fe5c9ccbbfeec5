"""`ringmt translate FILE...`: translates files, in every format of FORMATS."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from server.documents.job import Unservable
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.files.file_translation import TranslatedFile, translate_file
from server.files.formats.base import FileError
from server.files.in_process import InProcessParser
from server.files.parsing import SourceFile, parse
from server.stores.records import Mode
from server.translation.translator import RequestedOptions, Translator


def translate_files(
    translator: Translator,
    paths: Sequence[Path],
    folder: Path | None,
    options: RequestedOptions,
    mode: Mode,
    cache_bytes: int,
) -> int:
    """Write the translation of each file beside it, or into `folder`; its name has the language. Errors are printed and
    the other files go on. Returns the exit status: 1 after an error."""
    status = 0
    reader = StateReader(StateCache(cache_bytes))
    for path in paths:
        try:
            done = _translate(translator, path, reader, options, mode)
            place = (folder or path.parent) / done.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(done.data)
        except (FileError, OSError, Unservable) as error:
            print(f"ringmt: {path}: {error}", file=sys.stderr)
            status = 1
        else:
            flags = ", ".join(f"{count} {flag}" for flag, count in sorted(done.flags.items()))
            print(f"{place}: {done.num_sentences} sentences" + (f"; look at: {flags}" if flags else ""))
    return status


def _translate(
    translator: Translator, path: Path, reader: StateReader, options: RequestedOptions, mode: Mode
) -> TranslatedFile:
    with tqdm(unit=" sentences", desc=path.name, disable=not sys.stderr.isatty()) as progress:

        def told(done: int, total: int) -> None:
            progress.total = total
            progress.update(done - progress.n)

        async def work() -> TranslatedFile:
            source = SourceFile(path.read_bytes(), path.name, translator.languages[1])
            file = await parse(InProcessParser(), source)
            return await translate_file([translator], file, reader, options, mode, told)

        return asyncio.run(work())
