"""Measurements in one JSON file, which a comparison extends as rows are added."""

import gzip
import json
from pathlib import Path
from typing import Any

from export.compare.rows import CompareError
from model.durable import replace_file

FORMAT = 2


class Store:
    """Measurements by subject (a weights' hash) and name. Without a path they are not written to disk."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._values: dict[str, dict[str, Any]] = {}
        if path is not None and path.is_file():
            self._values = self._read(path)

    @staticmethod
    def _read(path: Path) -> dict[str, dict[str, Any]]:
        try:
            content = json.loads(read_text(path))
            if content["format"] != FORMAT:
                raise CompareError(f"{path} has format {content['format']}, this version reads {FORMAT}: delete it")
            values: dict[str, dict[str, Any]] = content["measured"]
        except (json.JSONDecodeError, KeyError, TypeError, gzip.BadGzipFile) as error:
            raise CompareError(f"{path} holds no measurements of ringmt compare: choose another file") from error
        return values

    def get(self, subject: str, what: str) -> Any:
        """None where it was not measured."""
        return self._values.get(subject, {}).get(what)

    def measured(self, subject: str) -> list[str]:
        """The names of its measurements."""
        return list(self._values.get(subject, {}))

    def put(self, subject: str, what: str, value: Any) -> None:
        """Add a measurement, and write everything through a temporary file."""
        self._values.setdefault(subject, {})[what] = value
        if self.path is not None:
            temporary = self.path.with_suffix(self.path.suffix + ".tmp")
            data = (json.dumps({"format": FORMAT, "measured": self._values}) + "\n").encode()
            # Equal measurements give equal bytes: the file has no modification time.
            temporary.write_bytes(gzip.compress(data, mtime=0) if self.path.suffix == ".gz" else data)
            replace_file(temporary, self.path)


def read_text(path: Path) -> str:
    """Packed where the name ends in .gz."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
