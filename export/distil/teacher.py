"""Translates text as a server does, and keeps the sentences that nothing is wrong with."""

import gzip
import json
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, cast

from server.artifact.manifest import ArtifactError, Manifest, read_manifest
from server.cli.translate import pair_of
from server.engine.synchronous import FEW, MANY
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.translation.assembly import SentenceTranslation
from server.translation.offline import translate_lines
from server.translation.pair_translator import in_languages
from server.translation.translator import Translator

LONGEST_LINE = 8_000
"""Characters of a line; a longer one is left out. All of its sentences must fit into the queue."""
NOT_UTF8, TOO_LONG, EMPTY = "not_utf8", "too_long", "empty"


class Row(NamedTuple):
    """What came of a line: pairs of sentences, and the reason for each sentence (or the whole line) that is left out:
    its first flag (server.telemetry.labels.FLAGS), or one of the names above. A line without words has neither."""

    pairs: list[tuple[str, str]]
    left_out: list[str]

    def to_json(self) -> str:
        return json.dumps(self, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> "Row":
        pairs, left_out = json.loads(line)
        return cls([(source, target) for source, target in pairs], left_out)


class Teacher:
    """An artifact that translates one pair of languages."""

    def __init__(self, artifact: Path, source: str | None, target: str | None, beam: int, workers: int | None) -> None:
        """`source` and `target` choose the pair of a model of several. `workers`: decoding threads. Only the manifest
        is read. Raises ArtifactError."""
        manifest = read_manifest(artifact)
        pair = pair_of(manifest, source, target)
        if pair is None:
            raise ArtifactError(
                f"artifact '{manifest.name}' has no pair, or several, from {source or 'any language'} to "
                f"{target or 'any language'}: say which with --source and --target"
            )
        backend, self.precision = _graphs(manifest)
        self._folder, self._beam, self.languages = artifact, beam, pair
        usual = EngineSettings()
        self._settings = EngineSettings(
            slots=FEW if manifest.order is None else MANY,
            num_workers=workers or usual.num_workers,
            backend=backend,
            precision=self.precision,
            max_beam_size=max(beam, usual.max_beam_size),
        )
        unloaded = Translator.unloaded(artifact, self._settings, Metrics())
        self.name, self.fingerprint, self.licence = unloaded.name, unloaded.fingerprint, manifest.licence

    @contextmanager
    def loaded(self) -> Iterator[Translator]:
        """The model in memory. Raises ArtifactError."""
        translator = Translator.load(self._folder, self._settings, Metrics())
        try:
            yield in_languages(translator, *self.languages)
        finally:
            translator.stop(timeout=0)

    def rows(self, translator: Translator, lines: Iterable[bytes]) -> Generator[Row, None, None]:
        """One row for each line, in order. Raises what the engine raises."""
        reasons = deque[str | None]()
        """Of the lines that were read, why they cannot be translated; filled by the thread that reads ahead."""

        def readable() -> Iterator[str]:
            for line in lines:
                text, reason = _read(line)
                reasons.append(reason)
                yield text

        for translation in translate_lines(translator, readable(), translator.options(beam_size=self._beam)):
            reason = reasons.popleft()
            yield row_of(translation.sentences) if reason is None else Row([], [reason])


def _graphs(manifest: Manifest) -> tuple[Literal["onnx", "torchscript"], Literal["int8", "fp32"]]:
    """The format and precision of the fastest graphs."""
    kinds = [(graph.format, graph.precision) for graph in manifest.graphs]
    order: list[tuple[Literal["onnx", "torchscript"], Literal["int8", "fp32"]]]
    order = [("onnx", "int8"), ("onnx", "fp32"), ("torchscript", "fp32")]
    return next((kind for kind in order if kind in kinds), order[0])


def _read(line: bytes) -> tuple[str, str | None]:
    """A line's text, and why it is not translated: then the text is empty."""
    try:
        text = line.removesuffix(b"\n").decode("utf-8")
    except UnicodeDecodeError:
        return "", NOT_UTF8
    return ("", TOO_LONG) if len(text) > LONGEST_LINE else (text, None)


def row_of(sentences: Iterable[SentenceTranslation]) -> Row:
    """The sentences of a text without flags; white space is one blank, so that a sentence is a line."""
    row = Row([], [])
    for sentence in sentences:
        source, target = (" ".join(text.split()) for text in (sentence.source, sentence.target))
        if sentence.flags:
            row.left_out.append(sentence.flags[0])
        elif source and target:
            row.pairs.append((source, target))
        else:
            row.left_out.append(EMPTY)
    return row


def open_text(path: Path) -> BinaryIO:
    """A text file, also packed by gzip (.gz)."""
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")
