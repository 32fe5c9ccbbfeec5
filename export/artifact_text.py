"""Texts to ids and back, sentence by sentence, by an artifact's own vocabularies."""

from collections.abc import Sequence
from pathlib import Path

from model.data.vocabulary import Vocabulary
from server.artifact.manifest import Manifest
from server.subwords.words import Words, is_words_file

Ids = tuple[int, ...]


def open_vocabulary(path: Path) -> Vocabulary | Words:
    """A vocabulary of either kind. Raises SubwordsError."""
    return Words(path) if is_words_file(path) else Vocabulary(path)


class ArtifactText:
    """Sources by the source's vocabulary, targets by the target's. Ids end with EOS, those of sources where the model's
    do."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._manifest = manifest
        self._target = open_vocabulary(folder / manifest.vocabulary_file)
        own = manifest.source_vocabulary_file
        self._source = open_vocabulary(folder / own) if own else self._target
        self._source_size = manifest.source_vocabulary_size or manifest.vocabulary_size

    def sources(self, sentences: Sequence[str]) -> list[Ids]:
        prefix = self._manifest.source_prefix
        ends, eos = self._manifest.source_eos, self._manifest.special_ids.eos
        encoded = [(*prefix, *ids) for ids in self._encode(self._source, self._source_size, sentences)]
        return [(*ids, eos) if ends or not ids else ids for ids in encoded]

    def source_of(self, piece: int) -> Ids:
        """The ids of a source of one piece."""
        return (*self._manifest.source_prefix, piece, *self._end)

    @property
    def _end(self) -> Ids:
        return (self._manifest.special_ids.eos,) if self._manifest.source_eos else ()

    def readable_sources(self, sentences: Sequence[str]) -> list[Ids]:
        """Ids of the sentences, truncated to the maximum source length of the model."""
        longest = self._manifest.max_source_length
        end = self._end
        return [ids if len(ids) <= longest else (*ids[: longest - len(end)], *end) for ids in self.sources(sentences)]

    def targets(self, sentences: Sequence[str]) -> list[Ids]:
        encoded = self._encode(self._target, self._manifest.vocabulary_size, sentences)
        return [(*ids, self._manifest.special_ids.eos) for ids in encoded]

    def source_pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as the vocabulary lists them."""
        return self._source.pieces([*ids])

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        return self._target.pieces([*ids])

    def _encode(self, vocabulary: Vocabulary | Words, size: int, sentences: Sequence[str]) -> list[Ids]:
        unknown = self._manifest.special_ids.unk
        return [tuple(token if token < size else unknown for token in ids) for ids in vocabulary.encode([*sentences])]

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Texts of targets without EOS."""
        return self._target.decode([list(ids) for ids in sequences])
