"""The engine as the server runs it: worker threads over one set of sessions."""

from pathlib import Path
from typing import Literal

from server.artifact.artifact import Artifact
from server.artifact.manifest import read_manifest
from server.backends.load import UseShortlist, load_backend
from server.engine.devices import intra_threads
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.worker import EngineWorker
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics


class OurEngine:
    """Sentences of one length through an EngineWorker."""

    def __init__(
        self, folder: Path, precision: Literal["int8", "fp32"], num_workers: int, use_shortlist: bool, threads: str
    ) -> None:
        """`folder`: graphs and manifest, which are not checked. `threads`: as the setting intra_threads."""
        artifact = Artifact(folder, read_manifest(folder))
        shortlist: UseShortlist = "on" if use_shortlist else "off"
        settings = EngineSettings(
            num_workers=num_workers, precision=precision, shortlist=shortlist, intra_threads=threads
        )
        count = intra_threads(artifact.manifest, settings)
        backend = load_backend(artifact, "onnx", precision, shortlist, threads=count)
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
