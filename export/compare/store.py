"""What has been measured so far, in one JSON file, so that a comparison can go on as rows appear."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from export.compare.rows import CompareError

FORMAT = 1


class Store:
    """Measurements by subject (a weights' hash) and what was measured. Without a path nothing is kept on disk."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._values: dict[str, dict[str, Any]] = {}
        if path is not None and path.is_file():
            self._values = self._read(path)

    @staticmethod
    def _read(path: Path) -> dict[str, dict[str, Any]]:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise CompareError(f"{path} has format {content['format']}, this version reads {FORMAT}: delete it")
            values: dict[str, dict[str, Any]] = content["measured"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise CompareError(f"{path} holds no measurements of ringmt compare: choose another file") from error
        return values

    def get(self, subject: str, what: str) -> Any:
        """None where it was not measured."""
        return self._values.get(subject, {}).get(what)

    def put(self, subject: str, what: str, value: Any) -> None:
        """Remember, and write everything through a temporary file."""
        self._values.setdefault(subject, {})[what] = value
        if self.path is not None:
            temporary = self.path.with_suffix(self.path.suffix + ".tmp")
            temporary.write_text(json.dumps({"format": FORMAT, "measured": self._values}) + "\n", encoding="utf-8")
            os.replace(temporary, self.path)

    def measure(self, subject: str, what: str, measurement: Callable[[], Any]) -> Any:
        """The value, measured now if it never was."""
        value = self.get(subject, what)
        if value is None:
            value = measurement()
            self.put(subject, what, value)
        return value
