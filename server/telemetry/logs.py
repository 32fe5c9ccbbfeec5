"""The server's log on standard error: text lines or JSON objects, with the request's id.

It never contains user text or keys. Of an exception only the type and the traceback are logged, because its message may
quote a request."""

import json
import logging
import time
import traceback
from contextvars import ContextVar
from types import TracebackType
from typing import Any

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the current request."""

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
FIELDS = ("method", "endpoint", "status", "seconds", "model")
"""Attributes of a log record about a request."""


class _Formatter(logging.Formatter):
    def formatException(self, ei: ExcInfo) -> str:
        """Types and frames, innermost last, without the messages of the exceptions."""
        error, lines = ei[1], []
        while error is not None:
            lines += traceback.format_tb(error.__traceback__)
            lines.append(f"{type(error).__module__}.{type(error).__qualname__}\n")
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return "".join(lines).rstrip()


class TextLines(_Formatter):
    """`INFO: message request_id=...`. A message is one line: characters that are not printable are escaped, so that a
    client's name can neither forge a line nor control a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        details = "".join(f" {name}={value}" for name, value in _details(record).items())
        line = f"{record.levelname + ':':9}{_printable(record.getMessage() + details)}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(_Formatter):
    """One object per line: time (UTC), level, logger, message, and request_id and FIELDS if they are set."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_details(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def _details(record: logging.LogRecord) -> dict[str, Any]:
    values = {"request_id": request_id.get()} | {name: getattr(record, name, None) for name in FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def log_config(level: str, form: str) -> dict[str, Any]:
    """The configuration of every logger, as logging.config.dictConfig reads it. `form` is "text" or "json"."""
    formatter = JsonLines if form == "json" else TextLines
    logger = {"handlers": ["stderr"], "level": level.upper()}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": formatter}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "loggers": dict.fromkeys(("ringmt", "uvicorn", "asyncio", "opentelemetry"), logger),
    }
