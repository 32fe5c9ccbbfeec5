"""The program of a parser process: reads requests from its standard input and answers on its standard output.

It imports the formats and their libraries, and nothing else of the server. It keeps nothing from one file to the next,
and ends when its input ends.
"""

import contextlib
import importlib
import os
import signal
import sys
from typing import Any, BinaryIO

from server.files import limits
from server.files.formats.base import DamagedFile, FileError, FileOptions, FileTooLarge
from server.files.formats.registry import FORMATS
from server.files.messages import Closed, receive, send
from server.files.parsing import ERRORS, SourceFile, read_texts, write_file
from server.runtime.process_memory import resident_bytes

_LIBRARIES = ("markdown_it", "yaml", "fluent.syntax", "charset_normalizer")
_RETIRES_AT_BYTES = 64 * 2**20
"""A process with more resident memory than this after a file ends, so that the next file has all of its share. One
that has read a small PDF file has 50 MiB where pypdf finds libraries for fonts and pictures to import."""
_NO_LIMIT = 2**32
_LONGEST_MESSAGE = 1000


def main(memory_bytes: int, cpu_seconds: float) -> None:
    """Answer requests until the input ends."""
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    import_formats()
    # A terminal and a service manager send these to all processes of the server; the server decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    limits.limit_process(memory_bytes)
    send(answers, {"is_ready": True})
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # messages of libraries may quote a client's file, which must not reach a log
        os.dup2(nothing, stream)
    status = 0
    try:
        _serve(requests, answers, memory_bytes, cpu_seconds)
    except MemoryError:  # not even for the answer
        status = limits.OUT_OF_MEMORY
    except (Closed, OSError):
        pass
    os._exit(status)  # skips the cleanup, which takes long for a large heap


def import_formats() -> None:
    """Import formats and libraries before the first file. Libraries may be missing."""
    modules = {f"server.files.formats.{form.module}" for form in FORMATS.values()}
    for module in (*modules, *_LIBRARIES):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


def _serve(requests: BinaryIO, answers: BinaryIO, memory_bytes: int, cpu_seconds: float) -> None:
    retires = False
    while not retires:
        fields, data = receive(requests, _NO_LIMIT, _NO_LIMIT)
        send(answers, {"is_read": True})  # if this process ends from here on, this file is the reason
        limits.limit_cpu(cpu_seconds)
        answer, written = _answer(fields, data, memory_bytes)
        del fields, data
        retires = "retires" in answer or resident_bytes() > _RETIRES_AT_BYTES
        send(answers, {**answer, "retires": retires}, written)


def _answer(fields: dict[str, Any], data: bytes, memory_bytes: int) -> tuple[dict[str, Any], bytes]:
    translations = fields.pop("translations", None)
    file = SourceFile(data, **{**fields, "options": FileOptions(**fields["options"])})
    try:
        if translations is None:
            return {"texts": read_texts(file)}, b""
        written = write_file(file, translations)
        return {"notes": list(written.notes)}, written.data
    except Exception as error:
        return _refusal(error, memory_bytes), b""


def _refusal(error: Exception, memory_bytes: int) -> dict[str, Any]:
    """The answer for an error. An error that no format expects says where it was raised, for the server's log, and
    quotes nothing of the file."""
    if _is_out_of_memory(error):
        message = limits.out_of_memory_message(memory_bytes)
        return {"error": FileTooLarge.__name__, "message": message, "failure": "memory", "retires": True}
    if isinstance(error, FileError):
        name = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in ERRORS)
        return {"error": name, "message": str(error)[:_LONGEST_MESSAGE]}
    trace, where = error.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        where, trace = f"{code.co_filename}, line {trace.tb_lineno}, in {code.co_name}", trace.tb_next
    kind = type(error).__name__
    message = f"the file cannot be translated: its parser failed ({kind}); save it again, or in another format"
    fault = f"{kind} at {where}"
    return {"error": DamagedFile.__name__, "message": message, "fault": fault, "failure": "crash", "retires": True}


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error is, or was caused by, a failed allocation."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__context__
    return False
