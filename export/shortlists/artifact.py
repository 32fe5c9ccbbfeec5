"""Writes an artifact again, with a shortlist."""

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx

from export.artifact_writer import described_shortlist
from export.goldens import goldens_of
from export.manifest import complete, graph_files
from export.onnx_graph.shortlist import ShortlistPlan
from export.onnx_writer import write_sharing
from export.parity import GraphPair
from export.replaced import replaced
from export.shortlists.check import check_listed
from export.shortlists.graphs import listed_graphs
from export.shortlists.traced import add_listed_step, can_be_listed
from export.signature import check, read_any
from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN, MANIFEST, ArtifactError, GraphFiles, Manifest
from server.backends.load import load_backend
from server.engine.self_test import GOLDEN


def add_shortlist(artifact: Artifact, plan: ShortlistPlan, out: Path) -> dict[str, float]:
    """Write `artifact` with the shortlist to the folder `out`, which may be its own. Returns, by format and precision
    ("onnx int8"), the largest difference to the graphs without a shortlist among the same words; TorchScript graphs of
    older exports that are not among them stay without one. Raises ParityError, NoProjection, and ArtifactError where
    all do; `out` is then as it was."""
    with replaced(out, MANIFEST) as folder:
        return _write(artifact, plan, folder)


def _write(artifact: Artifact, plan: ShortlistPlan, folder: Path) -> dict[str, float]:
    old = artifact.manifest
    for name in old.files:
        shutil.copyfile(artifact.path(name), folder / name)
    changed = [graph for graph in old.graphs if graph.format == "onnx" or can_be_listed(old, graph)]
    if not changed:
        raise ArtifactError(f"artifact '{old.name}' has graphs of an older export only: {EXPORT_AGAIN}")
    graphs = tuple(with_list(graph) if graph in changed else graph for graph in old.graphs)
    changed = [graph for graph in graphs if graph.step_shortlist]
    for graph in changed:
        if graph.format == "onnx":
            models = {file: onnx.load(artifact.path(file)) for file in files_of(graph)}
            write_sharing(listed_graphs(models, graph, old, plan), folder, f"weights.{graph.precision}.bin")
        else:
            add_listed_step(artifact, graph, plan, folder)
    manifest = dataclasses.replace(old, graphs=graphs, shortlist=described_shortlist(plan))
    manifest = with_listed_signatures(manifest, folder, changed)
    new = Artifact(folder, manifest)
    goldens, differences = read_rows(artifact), dict[str, float]()
    for graph in changed:
        rows = [row for row in goldens if (row["format"], row["precision"]) == (graph.format, graph.precision)]
        examples = [tuple(row["source_ids"]) for row in rows if not row.get("context_ids")]
        listing = load_backend(new, graph.format, graph.precision, "on")
        plain = load_backend(new, graph.format, graph.precision, "off")
        sources = [ids[manifest.start_length :] for ids in dict.fromkeys(examples)]
        differences[f"{graph.format} {graph.precision}"] = check_listed(listing, plain, sources)
        goldens = [row for row in goldens if row not in rows or not row.get("shortlist")]
        goldens += goldens_of(GraphPair(graph, listing), [*dict.fromkeys(examples)])
    complete(folder, manifest, goldens)
    return differences


def with_list(graph: GraphFiles) -> GraphFiles:
    """The entry with a step over a shortlist."""
    files = graph_files(graph.format, graph.precision, True)
    return dataclasses.replace(graph, step_shortlist=files.step_shortlist)


def files_of(graph: GraphFiles) -> Sequence[str]:
    """All graph files of an entry but the step over a shortlist."""
    context = () if graph.context is None else graph.context.files
    return [file for file in (graph.encode, graph.step, graph.score, graph.align, *context) if file]


def with_listed_signatures(manifest: Manifest, folder: Path, changed: Sequence[GraphFiles]) -> Manifest:
    """The manifest with the signatures of the graphs that have changed. Raises SignatureError."""
    signatures, width = dict(manifest.signatures), manifest.num_heads * manifest.head_dim
    for graph in changed:
        encode = [(graph.encode, graph.encode)] if graph.format == "onnx" else []
        for file, planned in (*encode, (graph.step_shortlist, graph.step)):
            found = read_any(folder / file, manifest.signatures[planned], graph.format, width)
            lists = {entry.name for entry in (*found.inputs, *found.outputs) if entry.name.startswith("shortlist.")}
            unlisted = manifest.signatures[planned]
            kept = tuple(entry for entry in unlisted.outputs if not entry.name.startswith("shortlist."))
            check(found, dataclasses.replace(unlisted, outputs=kept), file)
            assert lists
            signatures[file] = found
    return dataclasses.replace(manifest, signatures=signatures)


def read_rows(artifact: Artifact) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(artifact.path(GOLDEN).read_text(encoding="utf-8"))
    return rows
