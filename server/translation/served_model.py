"""A served model: its artifact, its parts where it is loaded, its state, and who uses it."""

import dataclasses
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self

from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError, read_manifest
from server.engine.request import ModelUnavailable
from server.engine.worker import EngineWorker
from server.runtime.ref_count import RefCount
from server.settings import EngineSettings
from server.telemetry.labels import AVAILABLE_STATES, ModelState
from server.telemetry.metrics import Metrics
from server.text.base.pieces import Pieces
from server.translation.loaded_model import LoadedModel, load_model
from server.translation.planning import Planner


class ServedModel:
    """A model that may be loaded, fail and recover, and be unloaded."""

    def __init__(
        self, artifact: Artifact, loaded: LoadedModel | None, settings: EngineSettings, metrics: Metrics
    ) -> None:
        """Without `loaded`, the model is loaded when `load_on_demand` is called."""
        self.artifact, self._loaded = artifact, loaded
        self.settings, self.metrics = settings, metrics
        self.name = artifact.manifest.name
        files = sorted(artifact.manifest.files.items())
        self.fingerprint = hashlib.sha256(repr(files).encode()).hexdigest()[:32]
        """Changes with the weights and the vocabulary."""
        self.users = RefCount()
        """Requests and jobs that use the model; it is neither stopped nor unloaded before they end."""
        self.state: ModelState = "ready" if loaded is not None else "unloaded"
        self.reason: str | None = None
        """Why the model is not ready."""
        self.on_state_change: Callable[[ServedModel], None] = lambda model: None
        """Called with the model after `fail`, `recover`, `open` and `close`."""
        self.loader: Callable[[Sequence[ServedModel]], Awaitable[None]] | None = None
        """Loads models, or waits until another request has loaded them; None where they are not loaded on demand."""
        self.last_used = time.monotonic()
        """A time.monotonic() value."""

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target; MANY for a side of several, in a model that no request has chosen a pair of (see
        `in_languages`)."""
        return self.artifact.manifest.source_language, self.artifact.manifest.target_language

    @property
    def worker(self) -> EngineWorker:
        return self._parts.worker

    @property
    def planner(self) -> Planner:
        return self._parts.planner

    @property
    def source_pieces(self) -> Pieces:
        return self._parts.source_pieces

    @property
    def target_pieces(self) -> Pieces:
        return self._parts.target_pieces

    @property
    def _parts(self) -> LoadedModel:
        """Raises ModelUnavailable for a model that is not loaded."""
        if self._loaded is None:
            raise ModelUnavailable(f"model '{self.name}' is not loaded; try again")
        return self._loaded

    @property
    def whole(self) -> "ServedModel":
        """The model with all of its pairs."""
        return self

    @property
    def is_loaded(self) -> bool:
        """Whether its weights are in memory."""
        return self._loaded is not None

    @property
    def is_available(self) -> bool:
        """Whether it translates, or will once it is loaded."""
        return self.state in AVAILABLE_STATES

    @classmethod
    def load(cls, folder: Path, settings: EngineSettings, metrics: Metrics) -> Self:
        """Load, start and warm up the model of an artifact. Raises ArtifactError or VocabularyError."""
        artifact = Artifact.load(folder)
        return cls(artifact, load_model(artifact, settings, metrics), settings, metrics)

    @classmethod
    def unloaded(cls, folder: Path, settings: EngineSettings, metrics: Metrics) -> Self:
        """The model of an artifact, of which only the manifest is read. Raises ArtifactError, also where the artifact
        has no graphs for the settings."""
        artifact = Artifact(folder, read_manifest(folder))
        artifact.manifest.graph(settings.backend, settings.precision)
        return cls(artifact, None, settings, metrics)

    async def load_on_demand(self) -> None:
        """Wait until the model is loaded. Raises ModelUnavailable."""
        await load_together([self])

    def load_unloaded(self) -> LoadedModel:
        """The parts of an unloaded model, for `open`. Blocks. Raises ArtifactError, also for an artifact that was
        changed since the server read its manifest, and VocabularyError."""
        artifact = Artifact.load(self.artifact.folder)
        if artifact.manifest != self.artifact.manifest:
            raise ArtifactError(
                f"artifact {artifact.folder} was changed: PUT /v1/models/{self.name} loads it as it is now"
            )
        return load_model(artifact, self.settings, self.metrics)

    def open(self, loaded: LoadedModel) -> None:
        """An unloaded model is ready."""
        self._loaded, self.state = loaded, "ready"
        self.on_state_change(self)

    def close(self) -> LoadedModel:
        """A ready model is unloaded; returns its parts, whose worker the caller stops."""
        loaded = self._parts
        self._loaded, self.state = None, "unloaded"
        self.on_state_change(self)
        return loaded

    def fail(self, state: ModelState, reason: str) -> None:
        """The engine hangs, has ended, or could not be restarted: sentences in flight are answered with
        ModelUnavailable, and no more are taken until `recover`."""
        self.state, self.reason = state, reason
        self.on_state_change(self)
        if self._loaded is not None:
            self._loaded.worker.abandon(self.unavailable())

    def recover(self, worker: EngineWorker) -> None:
        """Continue with another worker, which has translated a sentence."""
        self._loaded = dataclasses.replace(self._parts, worker=worker)
        self.state, self.reason = "ready", None
        self.on_state_change(self)

    def unavailable(self) -> ModelUnavailable:
        """The error that says why the model is not ready, and what to do."""
        follows = "its engine is being restarted" if self.state == "restarting" else "load it again or restart"
        return ModelUnavailable(f"model '{self.name}' is not available: {self.reason}; {follows}")

    def check_ready(self) -> None:
        """Raises ModelUnavailable."""
        if self.state != "ready":
            raise self.unavailable()

    def check_available(self) -> None:
        """Raises ModelUnavailable, not for a model that is loaded on demand."""
        if not self.is_available:
            raise self.unavailable()

    def stop(self, timeout: float) -> bool:
        """Let sentences in flight finish for at most `timeout` seconds, then stop. True if all finished."""
        if self._loaded is None:
            return True
        finished = self._loaded.worker.drain(timeout)
        self._loaded.worker.stop()
        return finished


async def load_together(models: Sequence[ServedModel]) -> None:
    """Wait until all models of a request or job, which counts among their users, are loaded. Raises
    ModelUnavailable."""
    wholes = [model.whole for model in models]
    [loader] = {model.loader for model in wholes}
    if loader is not None:
        await loader(wholes)
    for model in wholes:
        model.last_used = time.monotonic()
        model.check_ready()
