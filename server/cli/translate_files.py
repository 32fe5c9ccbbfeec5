"""`ringmt translate FILE...`: translates files, in every format of FORMATS."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from tqdm import tqdm

from server.documents.errors import Unservable
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.files.doubtful import in_words
from server.files.file_translation import TranslatedFile, translate_file
from server.files.formats.base import NO_OPTIONS, FileError, FileOptions
from server.files.in_process import InProcessParser
from server.files.parsing import SourceFile, parse
from server.stores.records import Mode
from server.text.base.language_tags import base_language
from server.translation.memory_lookup import MemoryUse
from server.translation.translator import RequestedOptions, Translator
from server.translation_memory.exchange import FileFormat, MalformedFile, read_pairs
from server.translation_memory.index import MemoryIndex
from server.translation_memory.pairs import EXACT


def translate_files(
    translator: Translator,
    paths: Sequence[Path],
    folder: Path | None,
    options: RequestedOptions,
    mode: Mode,
    cache_bytes: int,
    file_options: FileOptions = NO_OPTIONS,
    memory: MemoryUse | None = None,
) -> int:
    """Write the translation of each file beside it, or into `folder`, with the language in its name. An error is
    printed, and the other files are translated; so are notes. A translation that would take the place of another
    file's is an error. Entries of `memory` are used before the model. Returns the exit status: 1 after an error."""
    status = 0
    written: dict[Path, Path] = {}
    reader = StateReader(StateCache(cache_bytes))
    for path in paths:
        try:
            translated = _translate(translator, path, reader, options, mode, file_options, memory)
            output = (folder or path.parent) / translated.name
            if output in written:
                raise FileError(f"{output} is the translation of {written[output]} already; translate it by itself")
            output.parent.mkdir(parents=True, exist_ok=True)
            output.write_bytes(translated.data)
            written[output] = path
        except (FileError, OSError, Unservable) as error:
            print(f"ringmt: {path}: {error}", file=sys.stderr)
            status = 1
        else:
            flags = in_words(translated.flags)
            for note in (*translated.notes, *translated.doubtful.notes()):
                print(f"ringmt: {path}: {note}", file=sys.stderr)
            print(f"{output}: {translated.num_sentences} sentences" + (f"; check: {flags}" if flags else ""))
    return status


def memory_of(path: Path, languages: tuple[str, str]) -> MemoryUse:
    """The entries of a file: TMX, CSV or TSV. Raises ValueError that names it."""
    suffix = path.suffix.lower().removeprefix(".")
    written = next((each for each in get_args(FileFormat) if each == suffix), None)
    if written is None:
        raise ValueError(f"--memory {path}: its name must end with .tmx, .csv or .tsv")
    try:
        source, target = map(base_language, languages)
        read = read_pairs(path.read_bytes(), written, source, target)
    except (OSError, MalformedFile) as error:
        raise ValueError(f"--memory {path}: {error}") from error
    for reason, count in read.refused.items():
        pairs = "1 pair is" if count == 1 else f"{count} pairs are"
        print(f"ringmt: {path}: {pairs} not used: {reason}", file=sys.stderr)
    if not read.pairs:
        raise ValueError(f"--memory {path}: it has no pair from {' to '.join(languages)}")
    index = MemoryIndex()
    index.add(read.pairs)
    return MemoryUse(index, EXACT)


def _translate(
    translator: Translator,
    path: Path,
    reader: StateReader,
    options: RequestedOptions,
    mode: Mode,
    file_options: FileOptions,
    memory: MemoryUse | None,
) -> TranslatedFile:
    with tqdm(unit=" sentences", desc=path.name, disable=not sys.stderr.isatty()) as progress:

        def on_progress(done: int, total: int) -> None:
            progress.total = total
            progress.update(done - progress.n)

        async def work() -> TranslatedFile:
            source = SourceFile(path.read_bytes(), path.name, translator.languages[1], options=file_options)
            file = await parse(InProcessParser(), source)
            return await translate_file([translator], file, reader, options, mode, on_progress, memory=memory)

        return asyncio.run(work())
