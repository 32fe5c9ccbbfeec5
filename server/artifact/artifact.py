"""The format of artifacts, which export writes and the server reads: a folder with manifest.json, graphs, SentencePiece
models and golden.json.

For every graph the manifest lists every tensor with its name, dtype, axes and role (`server.artifact.signature`):

encode  source_ids, source_keep (1 where there is a piece) -> the source's tensors, where there is a shortlist its words
        and columns (shortlist.word, shortlist.weight, at int8 shortlist.scale, where there is one shortlist.bias), and
        for models with context on the encoder's side `memory`, the encoder's output

step    token, parent       last token of every row, and the beam that the row continues within its slot
        score               cumulative log-probability
        ancestry            which ring entries belong to each row's own past
        is_row              rows within the sentence's beam size; the others stay dead
        position            target position of `token`; rows of different slots stand anywhere
        source_keep         1 where the slot's sentence has a piece
        own_key, kept_key   the entry that each row writes in this step, and the entries that no row of its slot writes
        key_age             steps since each entry of a slot was written (only where a variant asks)
        write_index         (slot, head, entry) written in this step
        first_row           slot * beam
        num_rows, num_candidates    beam and 2*beam
        ring....            per slot, written in place, never reordered
        source...., shortlist....   per slot, as encode gives them
        -> candidate_score, candidate_token, candidate_parent [slot, 2*beam], best first; ties: lower parent, then token
           next_token, next_parent, next_score, next_ancestry: the following step's rows, the best candidates but EOS
           next_<name> for every ring tensor

score   as step, over the whole vocabulary, but without the choice: -> next_ancestry, next_<name> for every ring tensor,
        and log_probability of every word

align   source_keep, source.... as encode gives them, target_ids from BOS on, without EOS -> alignment [batch, piece,
        source]: which source pieces every piece after BOS comes from, each row summing to one

A graph may leave out inputs that it does not read. Rings and their next_ outputs are the same memory: a graph must read
nothing of a ring but the entries as written in this step.

There are capacity*beam entries; ring slot r of beam b is entry r*beam + b. A row at position p writes ring slot p mod
capacity. The ring never moves: a beam that continues another one inherits its parent's row of `ancestry`.

Models with context (Maruf et al. 2019, section 3) have more graphs, at every precision. The sentences of a document
lie in PAGES pages, so that short ones are not padded to the longest: page p holds J_p of them, each of up to W_p words.
A page without sentences has one that nobody sees. Names of its tensors end with a dot and the page's number, from 0.

store   memory, word_keep (1 for words, 0 for EOS and padding) -> what is kept of sentences: sentence_..., word_...
attend  memory, keep, and of every page sentence_keep.p (0: not visible, else how many sentences away), word_keep.p and
        the store's tensors
        -> new_memory, gate, and sentence_weights over the sentences of all pages in their order
           and where words have weights word_weights.p, means over the source
project memory -> the source's tensors, as encode gives them
pruned  attend and project in one, for documents of many sentences: the words of sentences without a weight are not
        read. Inputs as attend's -> the source's tensors; looked [batch, heads, J] and gate [batch], means over the
        source. Only where sentences are weighed by sparsemax.
near    the same as pruned for few sentences, in one page whose names have no number: memory, sentence_keep, word_keep
        and the store's tensors -> as pruned. One sentence at a time, without padding, so there is no keep.

On the decoder's side, where the words of a document are those of its translations, the graphs are

store   source_ids, source_keep, target_ids from BOS on without the last word, word_keep (0 where no word is predicted)
        -> what is kept, as above
attend  source_ids, source_keep, target_ids from BOS on, and the pages as above: where a finished translation looked
        -> gate, sentence_weights and word_weights.p as above, over the target
step, score     as above over the whole vocabulary, and the pages of every slot
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.artifact.signature import Signature, parse_signature

FORMAT = 5
MANIFEST = "manifest.json"
PAGES = 4
EXPORT_AGAIN = "repeat `ringmt export` with its checkpoint"
REPAIR = "copy the artifact again or repeat `ringmt export`"
"""What to do about an artifact whose files are missing or damaged."""


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
    """The files of the graphs by which sentences look at their document; "" where there is none."""

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
        looks = (self.attend, self.project, self.pruned, self.near)
        return tuple(filter(None, (self.store, *looks, self.step, self.score)))


@dataclass(frozen=True)
class GraphFiles:
    """Graphs that belong together, their `format` ("onnx", "torchscript"; several runtimes may run one) and precision.
    `step_shortlist` is a second step graph that chooses among a shortlist of words, `score` a step that gives the
    probability of every word, `align` a graph that aligns a translation with its source; "" where there is none.
    `context` is None where sentences cannot look at documents."""

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
    """How many words a step over a shortlist scores: `frequent` ones, the same for all sentences, then `extra` ones."""

    frequent: int
    extra: int

    @property
    def size(self) -> int:
        return self.frequent + self.extra


@dataclass(frozen=True)
class AlignmentKind:
    """Which attention the align graphs give: cross-attention of the decoder's `layer` and its `head`, both counted from
    1 (None: the mean of all heads), at the step that `reads` a piece, or else at the step that produces it. It got
    `share` of `links` right, pieces known to translate each other; 0 links if there were too few to choose by."""

    layer: int
    head: int | None
    reads: bool
    share: float
    links: int


@dataclass(frozen=True)
class ContextKind:
    """How sentences look at the rest of their document: the kind of `attention`, and on which `side` ("encoder":
    context in the source language). `width` is d, `num_heads` counts the context's own heads, `reach` is how many
    sentences away they look at most, None for the whole document."""

    attention: str
    side: str
    num_heads: int
    width: int
    reach: int | None = None


@dataclass(frozen=True)
class Manifest:
    """What an artifact is. Lengths count pieces with EOS; `order` is N, None for full attention."""

    name: str
    variant: str
    source_language: str
    target_language: str
    vocabulary_file: str
    """SentencePiece model of the target, and of the source where that has none of its own."""
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
    """How it was made: recipe, data hash, steps, versions."""
    special_ids: SpecialIds = USUAL_IDS
    source_vocabulary_file: str = ""
    source_vocabulary_size: int | None = None
    source_prefix: tuple[int, ...] = ()
    """Ids before every source, such as the one that names the target language."""
    forced_eos: bool = False
    """The last token that a translation may have is always EOS, and costs nothing."""
    shortlist: Shortlist | None = None
    context: ContextKind | None = None
    """None for models that translate every sentence by itself."""
    alignment: AlignmentKind | None = None
    """None where there are no align graphs."""
    format: int = FORMAT

    @property
    def precisions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(graph.precision for graph in self.graphs))

    @property
    def ring_tensors(self) -> tuple[str, ...]:
        """The ring tensors, which are the same in all step graphs."""
        return self.signatures[self.graphs[0].step].names("ring")

    @property
    def source_tensors(self) -> tuple[str, ...]:
        """What steps read of a sentence, apart from its shortlist; the same in all step graphs."""
        read = self.signatures[self.graphs[0].step].names("source")
        return tuple(name for name in read if name.startswith("source."))

    @property
    def store_tensors(self) -> tuple[str, ...]:
        """What is kept of a document's sentences; nothing by models without context."""
        graphs = next((graph.context for graph in self.graphs if graph.context is not None), None)
        return () if graphs is None else tuple(self.signatures[graphs.store].output_names)

    @property
    def gives_memory(self) -> bool:
        """Whether the encode graph has the output `memory`, which a context layer changes."""
        return self.context is not None and self.context.side == "encoder"

    def graph(self, format: str, precision: str) -> GraphFiles:
        """The graphs of one format and precision. Raises ArtifactError that lists those that there are."""
        for graph in self.graphs:
            if (graph.format, graph.precision) == (format, precision):
                return graph
        there = ", ".join(f"{g.format} {g.precision}" for g in self.graphs)
        raise ArtifactError(f"artifact '{self.name}' has no {format} graphs at {precision}; it has {there}")

    def signature(self, file: str) -> Signature:
        """Raises ArtifactError for a graph whose tensors are not listed."""
        if file not in self.signatures:
            raise ArtifactError(f"artifact '{self.name}': the manifest lists no tensors of {file}: {EXPORT_AGAIN}")
        return self.signatures[file]


def file_hash(path: Path) -> str:
    """SHA-256 of a file, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_manifest(text: str, where: str) -> Manifest:
    """Raises ArtifactError for text that is not a manifest of this format."""
    try:
        values = json.loads(text)
        if values.get("format") != FORMAT:
            found = values.get("format")
            raise ArtifactError(f"{where}: format {found!r}, this server reads {FORMAT}: {EXPORT_AGAIN}")
        values["graphs"] = tuple(parse_graphs(graph) for graph in values["graphs"])
        if values.get("shortlist") is not None:
            values["shortlist"] = Shortlist(**values["shortlist"])
        if values.get("context") is not None:
            values["context"] = ContextKind(**values["context"])
        if values.get("alignment") is not None:
            values["alignment"] = AlignmentKind(**values["alignment"])
        values["source_prefix"] = tuple(values.get("source_prefix", ()))
        if "special_ids" in values:
            values["special_ids"] = SpecialIds(**values["special_ids"])
        values["signatures"] = {file: parse_signature(one) for file, one in values["signatures"].items()}
        return Manifest(**values)
    except ArtifactError:
        raise
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ArtifactError(f"{where} is not a manifest ({error}); {REPAIR}") from error


def parse_graphs(values: dict[str, Any]) -> GraphFiles:
    context = values.get("context")
    return GraphFiles(**{**values, "context": None if context is None else ContextGraphs(**context)})


@dataclass(frozen=True)
class Artifact:
    """A folder, and its manifest."""

    folder: Path
    manifest: Manifest

    @classmethod
    def load(cls, folder: Path) -> "Artifact":
        """Read the manifest and check every file's hash. Raises ArtifactError."""
        manifest = read_manifest(folder)
        for name, expected in manifest.files.items():
            if not (folder / name).is_file():
                raise ArtifactError(f"artifact {folder}: {name} is missing; {REPAIR}")
            if file_hash(folder / name) != expected:
                raise ArtifactError(
                    f"artifact {folder}: {name} is not the file that was exported (its hash differs); {REPAIR}"
                )
        return cls(folder, manifest)

    def path(self, name: str) -> Path:
        return self.folder / name


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder; the other files are not checked. Raises ArtifactError."""
    path = folder / MANIFEST
    if not path.is_file():
        raise ArtifactError(f"{folder} is not an artifact: it has no {MANIFEST}")
    try:
        return parse_manifest(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise ArtifactError(f"{path} is not a manifest ({error}); {REPAIR}") from error


def find_artifacts(folders: Iterable[Path]) -> list[Path]:
    """Artifact folders: each of `folders` that is one, and all that are below the others, in the order of their paths.
    Names that begin with a dot are passed over. Raises ArtifactError."""
    found: dict[Path, None] = {}
    for folder in folders:
        if not folder.is_dir():
            raise ArtifactError(f"{folder} is not a folder; name folders of artifacts with --models or RINGMT_MODELS")
        below = sorted(_artifacts_below(folder))
        if not below:
            raise ArtifactError(f"{folder} holds no artifact (a folder with {MANIFEST}); `ringmt export` writes one")
        found.update(dict.fromkeys(below))
    return list(found)


def _artifacts_below(folder: Path) -> Iterator[Path]:
    """Artifacts in a folder and below, but not inside another. What several links lead to is found once."""
    seen = set()
    for path, names, files in os.walk(folder, followlinks=True):
        real, is_artifact = os.path.realpath(path), MANIFEST in files
        is_new = real not in seen
        seen.add(real)
        names[:] = sorted(name for name in names if is_new and not is_artifact and not name.startswith("."))
        if is_new and is_artifact:
            yield Path(path)


def find_models(folders: Iterable[Path]) -> dict[str, Path]:
    """The artifacts of `find_artifacts` by the names of their models. Raises ArtifactError, also for two models of one
    name."""
    found: dict[str, Path] = {}
    for folder in find_artifacts(folders):
        name = read_manifest(folder).name
        if name in found:
            raise ArtifactError(
                f"two models are named '{name}', {found[name]} and {folder}: serve one of them, or export one under "
                "another name"
            )
        found[name] = folder
    return found
