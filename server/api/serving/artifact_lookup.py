"""Finds the artifact that a request names."""

from collections.abc import Sequence
from pathlib import Path

from server.api.requests.errors import ApiError
from server.artifact.discovery import find_artifacts
from server.artifact.manifest import ArtifactError, read_manifest
from server.runtime.nearest_name import nearest


def find_artifact(folders: Sequence[Path], name: str, place: str | None) -> Path:
    """The folder of the artifact `name` anywhere below `folders`; `place` is its path below one of them, where several
    have the name. Names from a request are compared with the names of artifacts; no path is made of them. Raises
    ApiError, ArtifactError."""
    artifacts = [(folder, folder.relative_to(root).as_posix()) for root in folders for folder in find_artifacts([root])]
    if place is not None:
        paths = [path for _, path in artifacts]
        if place not in paths:
            raise ApiError("not_found", f"no artifact is at '{place}' in the models folder: {nearest(place, paths)}")
        artifacts = [(folder, path) for folder, path in artifacts if path == place]
    names = {folder: _name_of(folder) for folder, _ in artifacts}
    # An artifact without a readable manifest is matched by its folder: loading it raises what is wrong.
    matching = [folder for folder, artifact_name in names.items() if artifact_name == name]
    matching = matching or [
        folder for folder, artifact_name in names.items() if artifact_name is None and (place or folder.name == name)
    ]
    if not matching:
        known = nearest(name, [artifact_name for artifact_name in names.values() if artifact_name is not None])
        raise ApiError("not_found", f"no artifact in the models folder is named '{name}': {known}")
    if len(matching) > 1:
        listed = ", ".join(path for folder, path in artifacts if folder in matching)
        raise ArtifactError(f"several artifacts are named '{name}', at {listed}: say which with 'folder'")
    return matching[0]


def _name_of(folder: Path) -> str | None:
    """None where the manifest cannot be read."""
    try:
        return read_manifest(folder).name
    except ArtifactError:
        return None
