"""JSON files that belong to a checkpoint."""

import json
from pathlib import Path
from typing import Any

from export.importers import ImportRefused


def read_object(path: Path) -> dict[str, Any]:
    """Raises ImportRefused for a file that is missing, or holds no JSON object."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ImportRefused(f"{path} is missing: download the whole checkpoint") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ImportRefused(f"{path} cannot be read: {error}") from error
    if not isinstance(values, dict):
        raise ImportRefused(f"{path} holds no JSON object")
    return values
