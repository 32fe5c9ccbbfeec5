"""The translated file while it is written: OUTPUT.part has whole lines in order, OUTPUT.state identifies their run."""

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from server.corpus.remote import ServedModel
from server.runtime.folder_sync import sync_folder

BLOCK = 2**20


class OutputError(ValueError):
    """The output cannot be written, or belongs to another run."""


@dataclasses.dataclass(frozen=True)
class RunIdentity:
    """The hash of the input and the requested options: runs with equal identities continue each other."""

    input_sha256: str
    options: dict[str, object]

    @classmethod
    def of(cls, path: Path, options: dict[str, object]) -> "RunIdentity":
        """Raises OSError."""
        with path.open("rb") as content:
            return cls(hashlib.file_digest(content, "sha256").hexdigest(), options)


class Output:
    """The number of whole lines in OUTPUT.part is the only record of progress, so a kill cannot make them disagree. One
    process writes at a time."""

    def __init__(self, path: Path, identity: RunIdentity) -> None:
        """Continues an earlier run with the same identity. Raises OutputError and OSError."""
        self._path, self._identity = path, identity
        self._part, self._state = (path.with_name(path.name + suffix) for suffix in (".part", ".state"))
        self.model: ServedModel | None = None
        """The model that translated the lines so far."""
        if path.exists() and not self._state.exists():
            raise OutputError(f"{path} exists: remove it, or choose another --output")
        self._lock = _locked(self._state)
        try:
            self._check_state()
        except BaseException:
            self._lock.close()
            raise
        self.is_finished = path.exists()  # an earlier run was killed between renaming the file and removing its state
        self._file: IO[bytes] | None = None if self.is_finished else self._part.open("ab+")
        self.num_lines = 0 if self._file is None else _whole_lines(self._file)
        """Lines that are written."""

    def _check_state(self) -> None:
        text = self._state.read_text(encoding="utf-8")
        if not text:
            if self._part.exists():
                raise OutputError(f"{self._part} exists without its state: remove it, or choose another --output")
            self._write_state()
            return
        try:
            state = json.loads(text)
            identity = RunIdentity(state["identity"]["input_sha256"], state["identity"]["asked"])
            self.model = None if state["model"] is None else ServedModel(**state["model"])
        except (ValueError, KeyError, TypeError):
            raise OutputError(f"{self._state} is damaged: remove it and {self._part}, and begin again") from None
        if identity != self._identity:
            what = "another input" if identity.input_sha256 != self._identity.input_sha256 else "other options"
            raise OutputError(
                f"{self._state} belongs to a run with {what}: remove it and {self._part}, or use another --output"
            )

    def _write_state(self) -> None:
        identity = {"input_sha256": self._identity.input_sha256, "asked": self._identity.options}
        state = {"identity": identity, "model": self.model and dataclasses.asdict(self.model)}
        # Written in place, because the lock is on this file; a kill loses nothing else.
        with self._state.open("r+", encoding="utf-8") as file:
            file.write(json.dumps(state))
            file.truncate()

    def set_model(self, model: ServedModel) -> None:
        """Store the model, for runs that continue this one."""
        self.model = model
        self._write_state()

    def append(self, lines: Iterable[str]) -> None:
        """Append lines. Raises OSError; the lines before stay whole."""
        assert self._file is not None
        self._file.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
        self._file.flush()

    def finish(self) -> None:
        """All lines are written: rename the file to OUTPUT and remove its state."""
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._part, self._path)
            sync_folder(self._path.parent)  # the state must not go before the file has its name on the disk
            self.is_finished = True
        self._state.unlink()

    def close(self) -> None:
        """Release the lock, so that another process can continue."""
        with contextlib.suppress(OSError):  # the disk is full, which `append` has raised
            if self._file is not None:
                self._file.close()
        self._lock.close()


def _locked(path: Path) -> IO[bytes]:
    """The file, open and locked against other processes until it is closed or this process ends. Raises OutputError."""
    file = path.open("ab")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # Windows has no such locks
        pass
    except OSError:
        file.close()
        raise OutputError(f"another process writes {path.with_suffix('')} at this moment") from None
    return file


def _whole_lines(file: IO[bytes]) -> int:
    """The number of whole lines; an incomplete last line, left by a kill, is cut off."""
    file.seek(0)
    count = end = position = 0
    while block := file.read(BLOCK):
        count += block.count(b"\n")
        if (last := block.rfind(b"\n")) >= 0:
            end = position + last + 1
        position += len(block)
    file.truncate(end)
    return count
