"""An artifact: a folder with manifest.json, graphs, SentencePiece models and golden.json."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from server.artifact.manifest import REPAIR, ArtifactError, Manifest, read_manifest


def file_hash(path: Path) -> str:
    """SHA-256 of a file, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Artifact:
    """A folder, and its manifest."""

    folder: Path
    manifest: Manifest

    @classmethod
    def load(cls, folder: Path) -> "Artifact":
        """Read the manifest and check every file's hash. Raises ArtifactError."""
        manifest = read_manifest(folder)
        for name, expected in manifest.files.items():
            if not (folder / name).is_file():
                raise ArtifactError(f"artifact {folder}: {name} is missing; {REPAIR}")
            if file_hash(folder / name) != expected:
                raise ArtifactError(
                    f"artifact {folder}: {name} is not the file that was exported (its hash differs); {REPAIR}"
                )
        return cls(folder, manifest)

    def path(self, name: str) -> Path:
        return self.folder / name
