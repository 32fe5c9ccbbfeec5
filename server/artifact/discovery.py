"""Finds artifacts in folders."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from server.artifact.interrupted import put_back, put_back_in
from server.artifact.manifest import MANIFEST, ArtifactError, read_manifest


def find_artifacts(folders: Iterable[Path]) -> list[Path]:
    """Folders of artifacts in and below `folders`, in the order of their paths. Folders whose names begin with a dot
    are skipped, but for artifacts that an interrupted replacement had moved aside: they are put back. Raises
    ArtifactError."""
    artifacts: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir() and not put_back(folder, MANIFEST):
            raise ArtifactError(f"{folder} is not a folder; name folders of artifacts with --models or RINGMT_MODELS")
        below = sorted(_artifacts_below(folder))
        if not below:
            raise ArtifactError(f"{folder} holds no artifact (a folder with {MANIFEST}); `ringmt export` writes one")
        artifacts.update(dict.fromkeys(below))
    return list(artifacts)


def _artifacts_below(folder: Path) -> Iterator[Path]:
    """Artifacts in a folder and below, but not inside another artifact. A folder behind several links is listed
    once."""
    seen = set()
    for path, names, files in os.walk(folder, followlinks=True):
        real, is_artifact = os.path.realpath(path), MANIFEST in files
        is_new = real not in seen
        seen.add(real)
        names += put_back_in(Path(path), names, MANIFEST)
        names[:] = sorted(name for name in names if is_new and not is_artifact and not name.startswith("."))
        if is_new and is_artifact:
            yield Path(path)


def find_models(folders: Iterable[Path]) -> dict[str, Path]:
    """The artifacts of `find_artifacts` by the names of their models. Raises ArtifactError, also for two models with
    the same name."""
    models: dict[str, Path] = {}
    for folder in find_artifacts(folders):
        name = read_manifest(folder).name
        if name in models:
            raise ArtifactError(
                f"two models are named '{name}', {models[name]} and {folder}: serve one of them, or export one under "
                "another name"
            )
        models[name] = folder
    return models
