"""A model in the cache of the Hugging Face Hub: `models--OWNER--NAME` with `refs`, `snapshots` and `blobs`; the files
of a snapshot are links into `blobs`."""

from pathlib import Path

from export.importers import ImportRefused


def snapshot_of(folder: Path) -> Path:
    """The snapshot to which `refs/main` refers, or the only one, of a model's folder in the cache; another folder as it
    is. Raises ImportRefused where there is none, or several."""
    snapshots = folder / "snapshots"
    if not snapshots.is_dir() or not (folder / "blobs").is_dir():
        return folder
    known = {path.name: path for path in sorted(snapshots.iterdir()) if path.is_dir()}
    main = folder / "refs" / "main"
    named = main.read_text(encoding="utf-8", errors="replace").strip() if main.is_file() else None
    if named in known:
        return known[named]
    if len(known) != 1:
        reason = f"several snapshots ({', '.join(known)}): name one" if known else "no snapshot: download the model"
        raise ImportRefused(f"{folder} has {reason}")
    return next(iter(known.values()))
