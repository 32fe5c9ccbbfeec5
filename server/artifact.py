"""The treaty between export and server: a folder with manifest.json, graphs, a SentencePiece model and golden.json.

This text lives with its reader; export writes what is declared here.

Graphs (every backend the same flat tensors):

encode  source_ids int64 [batch, source], source_keep int32 [batch, source] (1 where there is a piece)
        -> one tensor per name in `source_tensors`: [batch, heads, source, head_dim]
           and where there is a shortlist the tensors below, with `batch` for `slot`
           and for models with context on the encoder's side `memory` float [batch, source, d], the encoder's output

step    token int64 [slot, beam]        last token of every row
        parent int64 [slot, beam]       beam that each row continues, within its slot
        score float [slot, beam]        cumulative log-probability
        ancestry bool [slot, beam, entry]   which ring entries belong to each row's own past
        is_row bool [slot, beam]        rows within the sentence's beam size; the others stay dead
        position int64 [slot]           target position of `token`; rows of different slots stand anywhere
        source_keep int32 [slot, source]
        own_key bool [beam, entry]      the entry that each beam writes in this step
        kept_key bool [entry]           entries that no beam writes in this step
        key_age int64 [entry]           steps since each entry was written (only where a variant asks)
        write_index int64 [slot, beam, heads, 3]    (slot, head, entry) written in this step
        first_row int64 [slot, 1]       slot * beam
        num_rows, num_candidates int64 [1]          beam and 2*beam
        `ring_tensors`   float [slot, heads, entry, head_dim]    per slot, written in place, never reordered
        `source_tensors` float [slot, heads, source, head_dim]   per slot, read only
        shortlist.word int64 [slot, size]           the words that are scored (step over a shortlist only)
        shortlist.weight float or int8 [slot, d, extra], shortlist.scale float [slot, 1, extra] (int8 only)
        -> candidate_score, candidate_token, candidate_parent [slot, 2*beam], best first; ties: lower parent, then token
           next_token, next_parent, next_score, next_ancestry: the following step's rows, the best candidates but EOS
           next_<name> for every ring tensor

A graph may leave out inputs that it does not read. `ring_tensors` and their next_ outputs are the same memory: a graph
must read nothing of a ring but the entries as written in this step.

Models with context (Maruf et al. 2019, section 3) have more graphs, at fp32. The J sentences of a document lie in
PAGES pages, so that short ones are not padded to the longest: page p holds J_p of them, each of up to W_p words. A page
without sentences has one that nobody sees. Names of pages end with a dot and the number of the page, from 0.

store   memory float [sentence, W, d], word_keep int32 [sentence, W] (1 for words, 0 for EOS and padding)
        -> one tensor per name in `context.store_tensors`: sentence_... [sentence, d], word_... [sentence, W, d]

attend  memory float [batch, source, d], keep int32 [batch, source], and of every page sentence_keep.p int32
        [batch, J_p] (who is visible), word_keep.p int32 [batch, J_p, W_p] and the store's tensors [batch, J_p, ...]
        -> new_memory [batch, source, d], gate [batch, source, d], and sentence_weights [batch, heads, source, J], J
           being the sentences of all pages in their order
           and where words have weights word_weights.p [batch, heads, J_p, W_p], means over the source

project memory float [batch, source, d] -> one tensor per name in `source_tensors`, as encode gives them

pruned  attend and project in one, for documents of many sentences: the words of sentences without a weight are not
        read. Inputs as attend's -> one tensor per name in `source_tensors`; looked [batch, heads, J] and gate [batch],
        means over the source. Only where sentences are weighed by sparsemax, and in no artifact exported before it.

On the decoder's side, where the words of a document are those of its translations, they are

store   source_ids int64, source_keep int32 [batch, source], target_ids int64 [batch, target] from BOS on without the
        last word, word_keep int32 [batch, target] (0 where no word is predicted)
        -> one tensor per name in `context.store_tensors`: sentence_... [batch, d], word_... [batch, target, d]

attend  source_ids, source_keep, target_ids from BOS on, and the pages as above: where a finished translation looked
        -> gate, sentence_weights and word_weights.p as above, with `target` for `source`

step    as above over the whole vocabulary, and the pages with [slot, J_p, ...]

There are capacity*beam entries; ring slot r of beam b is entry r*beam + b. The ring never moves: a beam that continues
another one inherits its parent's row of `ancestry`.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMAT = 2
MANIFEST = "manifest.json"
PAGES = 4
BOS_ID, EOS_ID = 2, 3


class ArtifactError(ValueError):
    """An artifact that cannot be served; the message says what is wrong with which file."""


@dataclass(frozen=True)
class GraphFiles:
    """Graphs that belong together: which backend runs them and at which precision. `step_shortlist` is a second step
    graph that scores a shortlist of words, empty where there is none."""

    backend: str
    precision: str
    encode: str
    step: str
    step_shortlist: str = ""
    built: str = "fast"
    """"fast": ONNX built by hand for plain models; "general": from the PyTorch modules of any model. Manifests that do
    not say it are older than the general ONNX graphs."""


@dataclass(frozen=True)
class Shortlist:
    """How many words a step over a shortlist scores: `frequent` ones that are the same for all, then `extra`."""

    frequent: int
    extra: int

    @property
    def size(self) -> int:
        return self.frequent + self.extra


@dataclass(frozen=True)
class ContextFiles:
    """How sentences look at the rest of their document: the kind of `attention`, on which `side` ("encoder": context
    in the source language), its graphs and their tensors. `width` is d, `num_heads` counts the context's own heads."""

    attention: str
    side: str
    num_heads: int
    width: int
    store_tensors: tuple[str, ...]
    store: str
    attend: str
    project: str = ""
    """On the encoder's side only."""
    step: str = ""
    """On the decoder's side only."""
    pruned: str = ""
    """On the encoder's side, where weights of sentences may be zero."""


@dataclass(frozen=True)
class Manifest:
    """What an artifact is. Lengths count pieces with EOS; `order` is N, None for full attention."""

    name: str
    variant: str
    source_language: str
    target_language: str
    vocabulary_file: str
    vocabulary_size: int
    order: int | None
    ring_capacity: int
    num_heads: int
    head_dim: int
    max_source_length: int
    max_target_length: int
    length_penalty: float
    ring_tensors: tuple[str, ...]
    source_tensors: tuple[str, ...]
    graphs: tuple[GraphFiles, ...]
    licence: str
    files: dict[str, str]
    """File name -> SHA-256 of every other file of the artifact."""
    origin: dict[str, Any]
    """How it was made: recipe, data hash, steps, versions."""
    shortlist: Shortlist | None = None
    context: ContextFiles | None = None
    """None for models that translate every sentence by itself."""
    format: int = FORMAT

    @property
    def precisions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(graph.precision for graph in self.graphs))

    @property
    def gives_memory(self) -> bool:
        """Whether the encode graph gives out the memory that a context layer changes."""
        return self.context is not None and self.context.side == "encoder"

    def graph(self, backend: str, precision: str) -> GraphFiles:
        """The graphs for one backend and precision. Raises ArtifactError that lists what there is."""
        for graph in self.graphs:
            if (graph.backend, graph.precision) == (backend, precision):
                return graph
        there = ", ".join(f"{g.backend} {g.precision}" for g in self.graphs)
        raise ArtifactError(f"artifact '{self.name}' has no {backend} graphs at {precision}; it has {there}")


def file_hash(path: Path) -> str:
    """SHA-256 of a file, hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def parse_manifest(text: str, where: str) -> Manifest:
    """Raises ArtifactError for text that is not a manifest of this format."""
    try:
        values = json.loads(text)
        if values.get("format") != FORMAT:
            found = values.get("format")
            raise ArtifactError(f"{where}: format {found!r}, this server reads {FORMAT}: repeat `ringmt export`")
        values["graphs"] = tuple(GraphFiles(**graph) for graph in values["graphs"])
        if values.get("shortlist") is not None:
            values["shortlist"] = Shortlist(**values["shortlist"])
        if values.get("context") is not None:
            values["context"] = parse_context(values["context"])
        for name in ("ring_tensors", "source_tensors"):
            values[name] = tuple(values[name])
        return Manifest(**values)
    except (TypeError, KeyError, AttributeError, json.JSONDecodeError) as error:
        raise ArtifactError(f"{where} is not a manifest: {error}") from error


def parse_context(values: dict[str, Any]) -> ContextFiles:
    return ContextFiles(**(values | {"store_tensors": tuple(values["store_tensors"])}))


@dataclass(frozen=True)
class Artifact:
    """A folder whose files are the ones its manifest was written for."""

    folder: Path
    manifest: Manifest

    @classmethod
    def load(cls, folder: Path) -> "Artifact":
        """Read the manifest and check every file's hash. Raises ArtifactError."""
        path = folder / MANIFEST
        if not path.is_file():
            raise ArtifactError(f"{folder} is not an artifact: it has no {MANIFEST}")
        manifest = parse_manifest(path.read_text(encoding="utf-8"), str(path))
        for name, expected in manifest.files.items():
            if not (folder / name).is_file():
                raise ArtifactError(f"artifact {folder}: {name} is missing")
            if file_hash(folder / name) != expected:
                raise ArtifactError(f"artifact {folder}: {name} is not the file that was exported (its hash differs)")
        return cls(folder, manifest)

    def path(self, name: str) -> Path:
        return self.folder / name
