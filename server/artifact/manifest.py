"""What an artifact is: its manifest.json."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.artifact.interrupted import put_back
from server.artifact.language_tokens import LanguageTokens, parse_languages
from server.artifact.signature import Signature, parse_signature

FORMAT = 5
MANIFEST = "manifest.json"
PAGES = 4
EXPORT_AGAIN = "repeat `ringmt export` with its checkpoint"
REPAIR = "copy the artifact again or repeat `ringmt export`"
"""Advice for an artifact whose files are missing or damaged."""


class ArtifactError(ValueError):
    """An artifact that cannot be served; the message says what is wrong with which file."""


@dataclass(frozen=True)
class SpecialIds:
    """Ids that are not words. `bos` begins every translation; in some models it equals `pad`."""

    pad: int
    unk: int
    bos: int
    eos: int


USUAL_IDS = SpecialIds(pad=0, unk=1, bos=2, eos=3)
"""The ids of artifacts whose manifest names none."""


@dataclass(frozen=True)
class ContextGraphs:
    """Files of the graphs for context; "" where there is none."""

    store: str
    attend: str
    project: str = ""
    """On the encoder's side only."""
    pruned: str = ""
    """On the encoder's side, where weights of sentences may be zero."""
    near: str = ""
    """On the encoder's side; "" in artifacts of older exports."""
    step: str = ""
    """On the decoder's side only, like `score`."""
    score: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        attention = (self.attend, self.project, self.pruned, self.near)
        return tuple(filter(None, (self.store, *attention, self.step, self.score)))


@dataclass(frozen=True)
class GraphFiles:
    """Graphs that belong together, their `format` ("onnx", "torchscript"; several runtimes may run one) and precision.
    `step_shortlist`: a second step graph, over a shortlist of words; `score`: a step graph with the probability of
    every word as output; `align`: the graph for word alignment; "" where there is none. `context` is None for a model
    or format without context."""

    format: str
    precision: str
    encode: str
    step: str
    step_shortlist: str = ""
    score: str = ""
    align: str = ""
    context: ContextGraphs | None = None


@dataclass(frozen=True)
class Shortlist:
    """Words that a step over a shortlist scores: `frequent` words, the same for all sentences, then `extra` words.
    Where the best of them has a probability below `min_confidence` for a sentence, it scores all words; below
    `min_confidence_rare` in sentences with pieces that the text of the list rarely had. 0: never, 1: always."""

    frequent: int
    extra: int
    min_confidence: float = 0.0
    min_confidence_rare: float = 0.0

    @property
    def size(self) -> int:
        return self.frequent + self.extra


@dataclass(frozen=True)
class AlignmentKind:
    """The attention that align graphs output: cross-attention of the decoder's `layer` and `head`, both counted from 1
    (None: the mean of all heads), at the step that `reads` a piece, or else at the step that produces it. It aligned
    `share` of `links` correctly, pieces that are known to translate each other; 0 links if there were too few."""

    layer: int
    head: int | None
    reads: bool
    share: float
    links: int


@dataclass(frozen=True)
class ContextKind:
    """How sentences attend to their document: the kind of `attention`, and the `side` ("encoder": context in the source
    language). `width` is d, `num_heads` counts the heads of the context layer, `reach` is the largest distance of a
    visible sentence, None for the whole document."""

    attention: str
    side: str
    num_heads: int
    width: int
    reach: int | None = None


@dataclass(frozen=True)
class Manifest:
    """The description of an artifact. Lengths count pieces with EOS; `order` is N, None for full attention."""

    name: str
    variant: str
    source_language: str
    target_language: str
    vocabulary_file: str
    """SentencePiece model of the target, and of the source if there is no `source_vocabulary_file`."""
    vocabulary_size: int
    order: int | None
    ring_capacity: int
    num_heads: int
    head_dim: int
    max_source_length: int
    max_target_length: int
    length_penalty: float
    graphs: tuple[GraphFiles, ...]
    signatures: dict[str, Signature]
    """Graph file -> its tensors."""
    licence: str
    files: dict[str, str]
    """File name -> SHA-256 of every other file of the artifact."""
    origin: dict[str, Any]
    """Provenance: recipe, data hash, steps, versions."""
    special_ids: SpecialIds = USUAL_IDS
    source_vocabulary_file: str = ""
    source_vocabulary_size: int | None = None
    source_prefix: tuple[int, ...] = ()
    """Ids before every source, such as a target-language token; with `languages`, the ids of their first pair."""
    languages: LanguageTokens | None = None
    """None for a model of one pair; else one of `source_language` and `target_language` is MANY, or both are."""
    source_eos: bool = True
    """Whether every source ends with EOS; else only one without words."""
    length_ratio: float = 1.0
    """Target pieces per source piece in the model's translations of whole sentences."""
    forced_eos: bool = False
    """The last token of a translation at the maximum length is always EOS, with log-probability 0."""
    shortlist: Shortlist | None = None
    context: ContextKind | None = None
    """None for models without context."""
    alignment: AlignmentKind | None = None
    """None where there are no align graphs."""
    format: int = FORMAT

    @property
    def start_length(self) -> int:
        """How many of the first ids of a source the decoder reads, as the beginning of the translation."""
        return 0 if self.languages is None else self.languages.start_length

    @property
    def sources(self) -> tuple[str, ...]:
        """The languages that are translated."""
        return (self.source_language,) if self.languages is None else tuple(self.languages.sources)

    @property
    def targets(self) -> tuple[str, ...]:
        return (self.target_language,) if self.languages is None else tuple(self.languages.targets)

    def translates(self, source: str, target: str) -> bool:
        if self.languages is None:
            return (source, target) == (self.source_language, self.target_language)
        return self.languages.translates(source, target)

    @property
    def first_pair(self) -> tuple[str, str]:
        """The languages of the model, or of its examples where it has many."""
        return (self.source_language, self.target_language) if self.languages is None else self.languages.first_pair

    @property
    def precisions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(graph.precision for graph in self.graphs))

    @property
    def ring_tensors(self) -> tuple[str, ...]:
        """The ring tensors, which are the same in all step graphs."""
        return self.signatures[self.graphs[0].step].names("ring")

    @property
    def wraps_after(self) -> int | None:
        """Tokens of the target after which a row overwrites its past; None where no layer has a ring."""
        return self.ring_capacity if self.ring_tensors else None

    @property
    def past_tensors(self) -> tuple[str, ...]:
        """Ring and recurrent tensors, layer by layer; the same in all step graphs."""
        read = self.signatures[self.graphs[0].step].inputs
        return tuple(tensor.name for tensor in read if tensor.role in ("ring", "recurrent"))

    @property
    def source_tensors(self) -> tuple[str, ...]:
        """The inputs of steps from the source sentence, without its shortlist; the same in all step graphs."""
        sources = self.signatures[self.graphs[0].step].names("source")
        return tuple(name for name in sources if name.startswith("source."))

    @property
    def store_tensors(self) -> tuple[str, ...]:
        """The stored states of a document's sentences; none for models without context."""
        graphs = next((graph.context for graph in self.graphs if graph.context is not None), None)
        return () if graphs is None else tuple(self.signatures[graphs.store].output_names)

    @property
    def gives_memory(self) -> bool:
        """Whether the encode graph has the output `memory`, which a context layer changes."""
        return self.context is not None and self.context.side == "encoder"

    def graph(self, format: str, precision: str) -> GraphFiles:
        """The graphs of one format and precision. Raises ArtifactError that lists the available ones."""
        for graph in self.graphs:
            if (graph.format, graph.precision) == (format, precision):
                return graph
        available = ", ".join(f"{g.format} {g.precision}" for g in self.graphs)
        raise ArtifactError(f"artifact '{self.name}' has no {format} graphs at {precision}; it has {available}")

    def signature(self, file: str) -> Signature:
        """Raises ArtifactError for a graph whose tensors are not listed."""
        if file not in self.signatures:
            raise ArtifactError(f"artifact '{self.name}': the manifest lists no tensors of {file}: {EXPORT_AGAIN}")
        return self.signatures[file]


def parse_manifest(text: str, where: str) -> Manifest:
    """Raises ArtifactError for text that is not a manifest of this format."""
    try:
        values = json.loads(text)
        if values.get("format") != FORMAT:
            version = values.get("format")
            raise ArtifactError(f"{where}: format {version!r}, this server reads {FORMAT}: {EXPORT_AGAIN}")
        for graph in values["graphs"]:
            graph["context"] = ContextGraphs(**graph["context"]) if graph.get("context") is not None else None
        values["graphs"] = tuple(GraphFiles(**graph) for graph in values["graphs"])
        if values.get("shortlist") is not None:
            values["shortlist"] = Shortlist(**values["shortlist"])
        if values.get("context") is not None:
            values["context"] = ContextKind(**values["context"])
        if values.get("alignment") is not None:
            values["alignment"] = AlignmentKind(**values["alignment"])
        values["source_prefix"] = tuple(values.get("source_prefix", ()))
        if values.get("languages") is not None:
            values["languages"] = parse_languages(values["languages"])
        if "special_ids" in values:
            values["special_ids"] = SpecialIds(**values["special_ids"])
        values["signatures"] = {file: parse_signature(signature) for file, signature in values["signatures"].items()}
        return Manifest(**values)
    except ArtifactError:
        raise
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ArtifactError(f"{where} is not a manifest ({error}); {REPAIR}") from error


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder; the other files are not checked. An artifact whose replacement was interrupted is put
    back. Raises ArtifactError."""
    path = folder / MANIFEST
    if not path.is_file() and not put_back(folder, MANIFEST):
        raise ArtifactError(f"{folder} is not an artifact: it has no {MANIFEST}")
    try:
        return parse_manifest(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{path} is not a manifest ({error}); {REPAIR}") from error
