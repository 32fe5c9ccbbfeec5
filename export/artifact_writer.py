"""Checkpoint in, artifact out: written beside its place, checked, and only then moved there."""

import dataclasses
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from export.calibration import input_ranges
from export.context_parity import check_context_parity
from export.decoder_context import write_decoder_context_onnx
from export.document_graphs import write_document_onnx
from export.goldens import write_goldens
from export.manifest import CONTEXT_FILES, context_files, graph_files, make_manifest
from export.onnx_general import write_general_onnx
from export.onnx_graph.shortlist import ShortlistPlan
from export.onnx_path import FAST, PathError, choose_path
from export.onnx_writer import write_onnx
from export.parity import check_parity
from export.torchscript import write_torchscript
from model.data.lexicon import LEXICON, Lexicon
from model.data.vocabulary import Vocabulary
from model.document import DocumentModel
from model.training.checkpoint import SUMMARY, VOCABULARY, load_model
from model.training.document_checkpoint import has_context, load_document_model
from model.translation_model import TranslationModel
from server.artifact import MANIFEST, Artifact, GraphFiles, Manifest, Shortlist, file_hash
from server.engine.golden import GOLDEN

ATTRIBUTION = "ATTRIBUTION.md"


DEFAULT_SHORTLIST = (2560, 192)
"""Frequent and extra words: on dev sets of the bundled model within 0.2 BLEU of the whole vocabulary."""
ShortlistSizes = tuple[int, int] | Literal["auto"] | None


@dataclass(frozen=True)
class ExportOptions:
    """`calibration` and `examples` are source sentences; `attribution` is copied beside the graphs. `shortlist`:
    numbers of frequent and extra words for a checkpoint that has a lexicon; "auto" takes the default where the
    vocabulary is at least twice as large. `path` forces one of export.onnx_path.PATHS."""

    name: str
    languages: tuple[str, str]
    graphs: tuple[tuple[str, str], ...] = (("onnx", "int8"),)
    licence: str = "not stated"
    length_penalty: float = 1.0
    attribution: Path | None = None
    shortlist: ShortlistSizes = "auto"
    calibration: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    path: str | None = None


def export_artifact(checkpoint: Path, out: Path, options: ExportOptions) -> dict[str, float]:
    """Write the artifact of a checkpoint folder to `out`, replacing what is there.

    Plain models get the fast ONNX graphs, others the general ones, unless `options.path` says which. Returns the
    largest difference to the PyTorch model per kind of graph. Raises ParityError, and leaves `out` as it was, when a
    graph computes something else; PathError when there are no such graphs of this model.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        differences = _write(checkpoint, temporary, options)
        if out.exists():
            shutil.rmtree(out)
        os.replace(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    out.chmod(0o755)
    return differences


def _write(checkpoint: Path, folder: Path, options: ExportOptions) -> dict[str, float]:
    document = load_for_export(checkpoint, options)
    model = load_model(checkpoint) if document is None else document.base
    onnx_path = choose_path(model, [precision for kind, precision in options.graphs if kind == "onnx"], options.path)
    shutil.copyfile(checkpoint / VOCABULARY, folder / VOCABULARY)
    if options.attribution is not None:
        shutil.copyfile(options.attribution, folder / ATTRIBUTION)
    vocabulary = Vocabulary(folder / VOCABULARY)
    shortlist = shortlist_plan(checkpoint, options.shortlist) if onnx_path == FAST else None
    graphs = tuple(graph_files(*kind, onnx_path, shortlist is not None) for kind in options.graphs)
    manifest = make_manifest(
        model,
        options.name,
        options.languages,
        graphs,
        VOCABULARY,
        options.licence,
        options.length_penalty,
        _origin(checkpoint),
    )
    if shortlist is not None:
        sizes = Shortlist(len(shortlist.frequent), shortlist.num_extra)
        manifest = dataclasses.replace(manifest, shortlist=sizes)
    if document is not None:
        manifest = dataclasses.replace(manifest, context=context_files(document))
        write_context(document, manifest, folder)
    ranges = input_ranges(model, vocabulary.encode(list(options.calibration)))
    for graph in graphs:
        write_graph(model, manifest, graph, ranges, folder, shortlist)
    artifact = Artifact(folder, manifest)
    differences = check_parity(model, artifact)
    if document is not None:
        differences |= check_context_parity(document, artifact)
    goldens = write_goldens(artifact, vocabulary.encode(list(options.examples)))
    (folder / GOLDEN).write_text(json.dumps(goldens, indent=1) + "\n", encoding="utf-8")
    hashes = {path.name: file_hash(path) for path in sorted(folder.iterdir())}
    text = json.dumps(dataclasses.asdict(dataclasses.replace(manifest, files=hashes)), indent=2)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
    Artifact.load(folder)
    return differences


def load_for_export(checkpoint: Path, options: ExportOptions) -> DocumentModel | None:
    """The document model of a checkpoint that has one. Raises PathError where none of the graphs that are asked for
    could look at a document."""
    if not has_context(checkpoint):
        return None
    if all(kind != "onnx" for kind, _ in options.graphs):
        raise PathError("context is served by ONNX graphs: ask for onnx-fp32 or onnx-int8 beside other kinds")
    return load_document_model(checkpoint)


def write_context(document: DocumentModel, manifest: Manifest, folder: Path) -> None:
    """The context graphs of either side."""
    context = manifest.context
    assert context is not None
    names = [getattr(context, kind) for kind in CONTEXT_FILES[document.config.side]]
    files = [folder / name for name in names if name]
    if document.on_encoder:
        write_document_onnx(document, *files)
    else:
        write_decoder_context_onnx(document, manifest, *files)


def shortlist_plan(checkpoint: Path, sizes: ShortlistSizes) -> ShortlistPlan | None:
    """The shortlist of a checkpoint with a lexicon; None where there is no lexicon or none is wanted."""
    path = checkpoint / LEXICON
    if sizes is None or not path.is_file():
        return None
    lexicon = Lexicon.load(path)
    if sizes != "auto":
        return ShortlistPlan.of(lexicon, *sizes)
    is_worth_it = len(lexicon.by_frequency) >= 2 * sum(DEFAULT_SHORTLIST)
    return ShortlistPlan.of(lexicon, *DEFAULT_SHORTLIST) if is_worth_it else None


def write_graph(
    model: TranslationModel,
    manifest: Manifest,
    graph: GraphFiles,
    ranges: dict[str, float],
    folder: Path,
    shortlist: ShortlistPlan | None = None,
) -> None:
    """Write one kind of graphs, in the way that `graph` says they are built."""
    if graph.backend == "torchscript":
        write_torchscript(model, manifest, folder / graph.encode, folder / graph.step)
    elif graph.built == FAST:
        write_onnx(model, graph, ranges, folder, shortlist, manifest.gives_memory)
    else:
        write_general_onnx(model, manifest, folder / graph.encode, folder / graph.step)


def _origin(checkpoint: Path) -> dict[str, Any]:
    """What training.json says of the checkpoint, where there is one."""
    path = checkpoint / SUMMARY
    origin: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return origin
