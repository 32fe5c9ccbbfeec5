"""The engine as the server runs it: worker threads over one set of sessions."""

from pathlib import Path

from server.artifact.artifact import Artifact
from server.artifact.manifest import read_manifest
from server.backends.load import load_backend
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.worker import EngineWorker
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics


class OurEngine:
    """Sentences of one length through an EngineWorker."""

    def __init__(self, folder: Path, precision: str, num_workers: int, use_shortlist: bool) -> None:
        """`folder`: graphs and manifest, which are not checked."""
        artifact = Artifact(folder, read_manifest(folder))
        backend = load_backend(artifact, "onnx", precision, "on" if use_shortlist else "off")
        settings = EngineSettings(num_workers=num_workers)
        self.worker = EngineWorker(backend, settings, Metrics(), artifact.manifest.name)
        self.worker.start()

    def translate(self, sources: list[tuple[int, ...]], beam: int, target_length: int) -> list[SentenceResult]:
        """Translate all sources at once; every translation has exactly `target_length` tokens."""
        options = SearchOptions(beam_size=beam, max_length=target_length)
        requests = [SentenceRequest(source, options) for source in sources]
        self.worker.submit_all(requests)
        return [request.future.result(timeout=600) for request in requests]

    def close(self) -> None:
        self.worker.stop()
