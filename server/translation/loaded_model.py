"""What a model needs in memory to translate: its vocabularies, its planner and its engine."""

import time
from dataclasses import dataclass

from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN
from server.engine.worker import EngineWorker
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics
from server.text.base.pieces import Pieces, VocabularyError
from server.translation.planning import Planner


@dataclass(frozen=True)
class LoadedModel:
    """`source_pieces` and `target_pieces` are often the same. `worker` has started."""

    source_pieces: Pieces
    target_pieces: Pieces
    planner: Planner
    worker: EngineWorker

    @classmethod
    def of(
        cls, artifact: Artifact, vocabularies: tuple[Pieces, Pieces], worker: EngineWorker, settings: EngineSettings
    ) -> "LoadedModel":
        """`vocabularies`: of source and target."""
        manifest = artifact.manifest
        return cls(*vocabularies, Planner(manifest, vocabularies, settings.max_waiting, manifest.first_pair), worker)


def load_model(artifact: Artifact, settings: EngineSettings, metrics: Metrics) -> LoadedModel:
    """Load, start and warm up the model of an artifact whose files were checked. Raises ArtifactError or
    VocabularyError."""
    started = time.monotonic()
    vocabularies = open_vocabularies(artifact)
    worker = EngineWorker.load(artifact, settings, metrics)
    worker.start()
    try:
        worker.warm_up()
    except BaseException:
        worker.stop()
        raise
    metrics.start_model(artifact.manifest.name)
    metrics.model_load_seconds.labels(artifact.manifest.name).set(time.monotonic() - started)
    return LoadedModel.of(artifact, vocabularies, worker, settings)


def open_vocabularies(artifact: Artifact) -> tuple[Pieces, Pieces]:
    """The vocabularies of source and target, often the same; of a model of many languages, those of its first pair.
    Raises VocabularyError for one whose ids of UNK and EOS are not the model's."""
    manifest = artifact.manifest
    language, _ = manifest.first_pair
    target = Pieces(artifact.path(manifest.vocabulary_file), manifest.vocabulary_size, language=language)
    source = target
    if manifest.source_vocabulary_file or not manifest.source_eos:
        path = artifact.path(manifest.source_vocabulary_file or manifest.vocabulary_file)
        size = manifest.source_vocabulary_size or manifest.vocabulary_size
        source = Pieces(path, size, manifest.source_prefix, language, manifest.source_eos)
    elif manifest.source_prefix:
        source = target.in_language(language, manifest.source_prefix)
    expected = (manifest.special_ids.unk, manifest.special_ids.eos)
    for pieces in (source, target):
        if (pieces.unk_id, pieces.eos_id) != expected:
            raise VocabularyError(
                f"artifact '{manifest.name}': a vocabulary has unk, eos = {pieces.unk_id, pieces.eos_id}, the model "
                f"{expected}: {EXPORT_AGAIN}"
            )
    return source, target
