"""Documents as released versions stored them, which a store converts to the present format when it is opened.

Format 1, RingMT 0.1: flat ids with an EOS after every part. Format 2, RingMT 0.2 to 0.4: the owner, a hash of a key,
stands in the document's id only.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

OLD_EOS_ID = 3
"""EOS of every model of RingMT 0.1."""


def upgraded_sentence(text: str | bytes) -> str:
    """A sentence of format 1 in the present format; a sentence of another format as it is."""
    values = json.loads(text)
    if "source_ids" not in values:
        return text.decode() if isinstance(text, bytes) else text
    sources = _split(values.pop("source_ids"))
    targets, drafts = (_split(values.pop(name, None) or ()) for name in ("target_ids", "draft_ids"))
    is_edited = values.get("is_edited", False)
    if is_edited and drafts and len(sources) == 1:  # a person's translation is context now
        drafts = targets or [[]]
    if is_edited or len(targets) != len(sources):
        targets = []
    values["parts"] = [
        {
            "source_ids": [*source, OLD_EOS_ID],
            "target_ids": targets[number] if targets else None,
            "context_ids": drafts[number] if len(drafts) == len(sources) else None,
        }
        for number, source in enumerate(sources)
    ]
    return _dumped(values)


def upgraded_document(text: str | bytes, sentences: Sequence[str]) -> str:
    """A document of format 1, whose sentences were upgraded, in the present format."""
    values = json.loads(text)
    if "num_places" not in values:
        values["num_places"] = sum(max(1, len(json.loads(sentence)["parts"])) for sentence in sentences)
    return _dumped(values)


FORMER = "former:"
"""Prefix of owners that are hashes of keys, until a key with this hash is known."""
_OWNED_ID = re.compile(r"[0-9A-Za-z_-]{24}-([0-9a-f]{12})", re.ASCII)


def former_owner(document_id: str) -> str:
    """The owner of a document of format 2, from its id; "" for a document of a server without keys."""
    match = _OWNED_ID.fullmatch(document_id)
    return f"{FORMER}{match[1]}" if match else ""


def model_of(text: str | bytes) -> str:
    """The name of a document's model, in either format."""
    return str(json.loads(text)["model"])


def _split(ids: Sequence[int]) -> list[list[int]]:
    """The ids of every part, without its EOS."""
    parts: list[list[int]] = [[]]
    for token in ids:
        if token == OLD_EOS_ID:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts[:-1]


def _dumped(values: dict[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":"))
