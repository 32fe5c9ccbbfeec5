"""Shortlists on PyTorch: methods of the graph of a step over one (see server/artifact/signature.py)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from server.artifact import signature
from server.artifact.manifest import EXPORT_AGAIN, ArtifactError
from server.artifact.signature import CHOSEN, STATE, UNSURE, Signature
from server.backends.arrays import Array
from server.backends.torchscript.graph import NamedGraph, PlainGraph

AT_ONCE = 32
"""Sentences whose lists are made in one run, which takes some numbers for every word of the vocabulary, about 200 MiB
for 250,000 words."""


@dataclass(frozen=True)
class ListedStep:
    """A step over a shortlist: `lists` makes the lists of sentences; `widen` scores all words for some slots, None
    where no step does."""

    step: NamedGraph
    lists: NamedGraph
    widen: NamedGraph | None

    @classmethod
    def of(cls, step: NamedGraph, file: str) -> "ListedStep":
        """Raises ArtifactError for a graph without these methods."""
        widens, planned = UNSURE in step.signature.output_names, lists_signature(step.signature)
        graph = step.graph
        assert isinstance(graph, PlainGraph)
        missing = [name for name in ("lists", *(["widen"] if widens else [])) if not graph.has(name)]
        if missing or not planned.outputs:
            raise ArtifactError(
                f"{file} is no step over a shortlist (it has no {' and no '.join(missing)}): {EXPORT_AGAIN}"
            )
        widen = NamedGraph(graph.method("widen"), widen_signature(step.signature), step.place) if widens else None
        return cls(step, NamedGraph(graph.method("lists"), planned, step.place), widen)

    @torch.inference_mode()
    def lists_of(self, feeds: Mapping[str, Array | Tensor]) -> dict[str, Tensor]:
        """The shortlists of sentences, source_ids and source_keep [batch, source], by name."""
        names = self.lists.signature.input_names
        count = len(feeds[names[0]])
        parts = [
            self.lists({name: feeds[name][start : start + AT_ONCE] for name in names})
            for start in range(0, count, AT_ONCE)
        ]
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def lists_signature(step: Signature) -> Signature:
    """Of the method `lists` of a step."""
    axes = ("batch", "source")
    ids = signature.Tensor("source_ids", "int64", axes, "source")
    keep = signature.Tensor("source_keep", "int32", axes, "source")
    listed = (replace(each, axes=("batch", *each.axes[1:])) for each in step.inputs if is_listed(each.name))
    return Signature((ids, keep), tuple(listed))


def widen_signature(step: Signature) -> Signature:
    """Of the method `widen` of a step."""
    tensors = {tensor.name: tensor for tensor in (*step.inputs, *step.outputs)}
    read, given = ((STATE, "score", "is_row"), CHOSEN)
    inputs, outputs = (tuple(tensors[name] for name in names) for names in (read, given))
    return Signature(inputs, outputs)


def is_listed(name: str) -> bool:
    """Whether a tensor is a part of a sentence's shortlist."""
    return name.startswith("shortlist.")
