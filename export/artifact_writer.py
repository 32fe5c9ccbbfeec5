"""Writes a checkpoint as an artifact: into a temporary folder, which is renamed after all checks."""

import dataclasses
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from export.alignment import check_alignments, choose_head
from export.artifact_text import ArtifactText, Ids
from export.calibration import Ranges, context_ranges, input_ranges, translations_of
from export.context_parity import check_context_parity
from export.goldens import goldens_of
from export.manifest import complete, context_kind, graph_files, make_manifest, with_context
from export.onnx_graph.quantize import Traces
from export.onnx_graph.shortlist import ShortlistPlan
from export.onnx_writer import ContextExport, write_onnx
from export.parity import check_parity, graph_pairs
from export.replaced import replaced
from export.signature import with_signatures
from export.torchscript_writer import write_torchscript
from model.alignment import AlignmentHead
from model.config import SPECIAL_IDS, ModelConfig
from model.data.lexicon import LEXICON, Lexicon
from model.document import DocumentModel
from model.training.checkpoint import SUMMARY, VOCABULARY, find_vocabulary, load_model, read_json
from model.training.document_checkpoint import has_context, load_document_model
from model.training.imported import SOURCE_VOCABULARY, load_imported, source_vocabulary
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.language_tokens import LanguageTokens
from server.artifact.manifest import MANIFEST, AlignmentKind, GraphFiles, Manifest, Shortlist

ATTRIBUTION = "ATTRIBUTION.md"

SMALL_VOCABULARY = 16_000
ShortlistSizes = tuple[int, int] | Literal["auto"] | None


class ExportError(ValueError):
    """Graphs that cannot be exported; the message names those that can."""


@dataclass(frozen=True)
class ExportOptions:
    """`calibration` and `examples` are source sentences; `attribution` is copied beside the graphs. `shortlist`:
    numbers of frequent and extra words for a checkpoint that has a lexicon; "auto" takes the default where the
    vocabulary is at least twice as large."""

    name: str
    languages: tuple[str, str]
    graphs: tuple[tuple[str, str], ...] = (("onnx", "int8"),)
    licence: str = "not stated"
    length_penalty: float = 1.0
    length_ratio: float = 1.0
    attribution: Path | None = None
    shortlist: ShortlistSizes = "auto"
    calibration: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Content:
    """The content of an artifact. `source_vocabulary`: of models with a separate source vocabulary; `source_prefix` and
    `forced_eos` are those of the manifest."""

    model: TranslationModel
    vocabulary: Path
    origin: dict[str, Any]
    document: DocumentModel | None = None
    shortlist: ShortlistPlan | None = None
    lexicon: Lexicon | None = None
    """Translation probabilities of pieces, where source and target share the vocabulary."""
    source_vocabulary: Path | None = None
    source_prefix: tuple[int, ...] = ()
    languages: LanguageTokens | None = None
    """Of a model of many languages: then its `source_prefix` is that of the first pair."""
    forced_eos: bool = False
    alignment: AlignmentHead | None = None
    """The head that was trained to align; None: the best one is measured."""
    parity_on_examples: bool = False
    """Graphs are compared with the model on the examples, not on random ids."""


def export_artifact(checkpoint: Path, out: Path, options: ExportOptions) -> dict[str, float]:
    """`write_artifact` of a checkpoint folder."""
    document = load_for_export(checkpoint)
    model = load_model(checkpoint) if document is None else document.base
    has_usual_ids = model.config.ids == SPECIAL_IDS  # the shortlist's
    shortlist = shortlist_plan(checkpoint, options.shortlist) if has_usual_ids else None
    lexicon = find_lexicon(checkpoint)
    path = checkpoint / SUMMARY
    origin = read_json(path) if path.is_file() else {}
    imported = load_imported(checkpoint)
    if imported is None:
        content = Content(model, find_vocabulary(checkpoint), origin, document, shortlist, lexicon)
        return write_artifact(content, out, options)
    content = Content(
        model, checkpoint / VOCABULARY, origin, document, source_vocabulary=source_vocabulary(checkpoint),
        source_prefix=imported.source_prefix, forced_eos=imported.forced_eos, parity_on_examples=True,
    )  # fmt: skip
    return write_artifact(content, out, options)


def write_artifact(content: Content, out: Path, options: ExportOptions) -> dict[str, float]:
    """Write an artifact to `out`, replacing what is there.

    Returns the largest difference to the PyTorch model per kind of graph. Raises ParityError, and leaves `out` as it
    was, when a graph deviates from the model; ExportError for graphs that cannot be exported.
    """
    with replaced(out, MANIFEST) as folder:
        return _write(content, folder, options)


def _write(content: Content, folder: Path, options: ExportOptions) -> dict[str, float]:
    has_int8 = any(precision == "int8" for _, precision in options.graphs)
    if has_int8 and not options.calibration:
        raise ExportError("int8 needs sentences that set the ranges of activations: give some as calibration")
    _copy_files(content, folder, options.attribution)
    manifest, ranges, in_context = _measured(content, folder, _manifest_of(content, options), options.calibration)
    traces = Traces(keep=[graph.format for graph in manifest.graphs].count("onnx") > 1)
    for graph in manifest.graphs:
        write_graph(content.model, manifest, graph, ranges, folder, content.shortlist, in_context, traces)
    del traces  # before graphs are loaded
    manifest = with_signatures(manifest, folder)
    differences, goldens = _checked(content, Artifact(folder, manifest), options.examples)
    complete(folder, manifest, goldens)
    return differences


def _copy_files(content: Content, folder: Path, attribution: Path | None) -> None:
    shutil.copyfile(content.vocabulary, folder / VOCABULARY)
    if content.source_vocabulary is not None:
        shutil.copyfile(content.source_vocabulary, folder / SOURCE_VOCABULARY)
    if attribution is not None:
        shutil.copyfile(attribution, folder / ATTRIBUTION)


def _manifest_of(content: Content, options: ExportOptions) -> Manifest:
    """The manifest, without what is measured and computed from the graphs."""
    model, document, shortlist, languages = content.model, content.document, content.shortlist, content.languages
    graphs = tuple(graph_files(*kind, shortlist is not None) for kind in options.graphs)
    if document is not None:
        graphs = tuple(with_context(graph, document) for graph in graphs)
    return dataclasses.replace(
        make_manifest(
            model,
            options.name,
            options.languages,
            graphs,
            VOCABULARY,
            options.licence,
            options.length_penalty,
            described_origin(content.origin, model.config),
        ),
        source_vocabulary_file=SOURCE_VOCABULARY if content.source_vocabulary is not None else "",
        source_prefix=content.source_prefix if languages is None else languages.prefix(*languages.first_pair),
        languages=languages,
        max_target_length=model.config.max_length - (0 if languages is None else languages.start_length),
        forced_eos=content.forced_eos,
        length_ratio=options.length_ratio,
        shortlist=None if shortlist is None else described_shortlist(shortlist),
        context=None if document is None else context_kind(document),
    )


def _measured(
    content: Content, folder: Path, manifest: Manifest, calibration: Sequence[str]
) -> tuple[Manifest, Ranges, ContextExport | None]:
    """What the model shows on the sentences for calibration: the manifest with the head that aligns, the ranges of
    activations for int8, and what the graphs for documents need."""
    model, document, graphs = content.model, content.document, manifest.graphs
    text, skipped = ArtifactText(folder, manifest), manifest.start_length
    sample = [ids[skipped:] for ids in text.readable_sources(calibration)]
    start = manifest.source_prefix[:skipped]
    has_int8, aligns = any(graph.precision == "int8" for graph in graphs), any(graph.align for graph in graphs)
    needs_translations = has_int8 or (aligns and content.alignment is None)
    translations = translations_of(model, sample, start=start) if needs_translations else []
    if aligns:
        manifest = dataclasses.replace(manifest, alignment=_alignment(content, text, sample, translations))
    ranges = input_ranges(model, sample, start=start, translations=translations) if has_int8 else {}
    if document is None:
        return manifest, ranges, None
    in_context = context_ranges(document, sample, ranges, translations=translations) if has_int8 and sample else {}
    return manifest, ranges, ContextExport(document, in_context)


def _checked(
    content: Content, artifact: Artifact, examples: Sequence[str]
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The largest differences between the graphs and the model, and the graphs' goldens. Raises ParityError."""
    model, document, skipped = content.model, content.document, artifact.manifest.start_length
    sources = ArtifactText(artifact.folder, artifact.manifest).readable_sources(examples)
    read = [ids[skipped:] for ids in sources] if content.parity_on_examples else []
    differences: dict[str, float] = {}
    goldens: list[dict[str, Any]] = []
    for pair in graph_pairs(artifact):
        differences |= check_parity(model, pair, read)
        check_alignments(model, pair)
        if document is not None:
            differences |= check_context_parity(document, pair, read)
        goldens += goldens_of(pair, sources)
    return differences, goldens


def _alignment(
    content: Content, text: ArtifactText, sample: Sequence[Ids], translations: Sequence[list[int]]
) -> AlignmentKind:
    """The head of the content, or the one that fits translations of a sample best."""
    at = content.alignment
    if at is None:
        return choose_head(content.model, text, sample, translations, content.lexicon)
    return AlignmentKind(at.layer, at.head, at.reads, 0.0, 0)


def load_for_export(checkpoint: Path) -> DocumentModel | None:
    """The document model of a checkpoint that has one."""
    return load_document_model(checkpoint) if has_context(checkpoint) else None


def find_lexicon(checkpoint: Path) -> Lexicon | None:
    """The lexicon of a checkpoint that has one."""
    path = checkpoint / LEXICON
    return Lexicon.load(path) if path.is_file() else None


def default_shortlist(vocabulary: int) -> tuple[int, int]:
    """Numbers of frequent and extra words. Of 8,000 words, on the bundled model's dev sets, 0.4 to 1.1% of the
    references' pieces are on no list of 3072+64 (0.5 to 1.4% with 2560+192), and a step takes up to 9% less time. Of
    32,000, in a model of d=512, the engine loses 4 to 6% by it."""
    return (3072, 64) if vocabulary <= SMALL_VOCABULARY else (2560, 192)


def shortlist_plan(checkpoint: Path, sizes: ShortlistSizes) -> ShortlistPlan | None:
    """The shortlist of a checkpoint with a lexicon; None without a lexicon or with `sizes` None."""
    lexicon = find_lexicon(checkpoint)
    if sizes is None or lexicon is None:
        return None
    if sizes != "auto":
        return ShortlistPlan.of(lexicon, *sizes)
    default = default_shortlist(len(lexicon.words))
    is_worth_it = len(lexicon.by_frequency) >= 2 * sum(default)
    return ShortlistPlan.of(lexicon, *default) if is_worth_it else None


def described_shortlist(plan: ShortlistPlan) -> Shortlist:
    """The manifest's entry."""
    sizes, widening = (len(plan.frequent), plan.num_extra), plan.widening
    if widening is None:
        return Shortlist(*sizes)
    return Shortlist(*sizes, widening.min_confidence, widening.min_confidence_rare)


def write_graph(
    model: TranslationModel,
    manifest: Manifest,
    graph: GraphFiles,
    ranges: Ranges,
    folder: Path,
    shortlist: ShortlistPlan | None = None,
    in_context: ContextExport | None = None,
    traces: Traces | None = None,
) -> None:
    """Write the graphs of one format and precision; `traces` of the same model."""
    if graph.format == "torchscript":
        document = None if in_context is None else in_context.document
        write_torchscript(model, manifest, graph, folder, document, shortlist)
    else:
        write_onnx(model, manifest, graph, ranges, folder, shortlist, in_context, traces)


def described_origin(origin: dict[str, Any], config: ModelConfig) -> dict[str, Any]:
    """The origin with the model's configuration, where its recipe does not have it: `ringmt unpack` reads it."""
    return origin if "model" in origin.get("recipe", {}) else origin | {"model": config.to_dict()}
