"""Documents as RingMT kept them before: in format 1 with flat ids and an EOS after every part; up to format 2 with the
owner in the document's id only. A store brings them to the format of today when it is opened."""

import json
import re
from collections.abc import Sequence
from typing import Any

OLD_EOS_ID = 3
"""EOS of every model that format 1 knew."""


def upgraded_sentence(text: str | bytes) -> str:
    """A sentence of format 1 in the format of today; one that is not of format 1 as it is."""
    values = json.loads(text)
    if "source_ids" not in values:
        return text.decode() if isinstance(text, bytes) else text
    sources = _split(values.pop("source_ids"))
    targets, drafts = (_split(values.pop(name, None) or ()) for name in ("target_ids", "draft_ids"))
    is_edited = values.get("is_edited", False)
    if is_edited and drafts and len(sources) == 1:  # what a person wrote is context now
        drafts = targets or [[]]
    if is_edited or len(targets) != len(sources):
        targets = []
    values["parts"] = [
        {
            "source_ids": [*source, OLD_EOS_ID],
            "target_ids": targets[at] if targets else None,
            "context_ids": drafts[at] if len(drafts) == len(sources) else None,
        }
        for at, source in enumerate(sources)
    ]
    return _dumped(values)


def upgraded_document(text: str | bytes, sentences: Sequence[str]) -> str:
    """A document of format 1, whose sentences were upgraded, in the format of today."""
    values = json.loads(text)
    if "num_places" not in values:
        values["num_places"] = sum(max(1, len(json.loads(one)["parts"])) for one in sentences)
    return _dumped(values)


FORMER = "former:"
"""Begins the owner of what was kept when owners were hashes of keys, until a key is known that has this hash."""
_OWNED_ID = re.compile(r"[0-9A-Za-z_-]{24}-([0-9a-f]{12})", re.ASCII)


def former_owner(document_id: str) -> str:
    """Whose a document of format 2 is, from its id; "" for one of a server without keys."""
    found = _OWNED_ID.fullmatch(document_id)
    return f"{FORMER}{found[1]}" if found else ""


def model_of(text: str | bytes) -> str:
    """The name of a document's model, in either format."""
    return str(json.loads(text)["model"])


def _split(ids: Sequence[int]) -> list[list[int]]:
    """The ids of every part, without its EOS."""
    parts: list[list[int]] = [[]]
    for one in ids:
        if one == OLD_EOS_ID:
            parts.append([])
        else:
            parts[-1].append(one)
    return parts[:-1]


def _dumped(values: dict[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":"))
