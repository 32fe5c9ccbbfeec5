"""Translates the bytes of a file in the test's own process."""

from typing import Any

from server.documents.sentence_states import StateReader
from server.files.file_translation import TranslatedFile, translate_file
from server.files.in_process import InProcessParser
from server.files.parsing import SourceFile, parse
from server.stores.records import Mode
from server.translation.translator import RequestedOptions, Translator


async def translate_bytes(
    translator: Translator,
    data: bytes,
    name: str,
    reader: StateReader,
    options: RequestedOptions,
    mode: Mode = "offline",
    max_characters: int = 10_000_000,
    **more: Any,
) -> TranslatedFile:
    source = SourceFile(data, name, translator.languages[1], max_characters)
    return await translate_file([translator], await parse(InProcessParser(), source), reader, options, mode, **more)
