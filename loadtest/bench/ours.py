"""The engine as the server runs it: worker threads over one set of sessions."""

import dataclasses
from pathlib import Path

from export.artifact_writer import write_graph
from export.calibration import input_ranges
from export.manifest import graph_files, make_manifest
from export.signature import with_signatures
from loadtest.bench.shapes import random_model, random_plan, random_sources
from model.config import ModelConfig
from server.artifact.artifact import Artifact
from server.artifact.manifest import Shortlist
from server.backends.load import load_backend
from server.engine.request import SearchOptions, SentenceRequest, SentenceResult
from server.engine.worker import EngineWorker
from server.settings import EngineSettings
from server.telemetry.metrics import Metrics


def random_artifact(
    config: ModelConfig, precision: str, folder: Path, with_shortlist: bool, format: str = "onnx"
) -> Artifact:
    """The graphs of a random model, without a vocabulary: the bench decodes ids only."""
    model = random_model(config)
    graph = graph_files(format, precision, with_shortlist)
    if format == "torchscript":
        graph = dataclasses.replace(graph, score="", align="")  # each is a trace, which takes long
    plan = random_plan(config.vocab_size) if with_shortlist else None
    manifest = make_manifest(model, "bench", ("xx", "yy"), (graph,), "", "", 1.0, {})
    samples = random_sources(4, 24, config.vocab_size, seed=1)
    ranges = input_ranges(model, samples, max_length=24) if precision == "int8" else {}
    if plan is not None:
        manifest = dataclasses.replace(manifest, shortlist=Shortlist(len(plan.frequent), plan.num_extra))
    write_graph(model, manifest, graph, ranges, folder, plan)
    return Artifact(folder, with_signatures(manifest, folder))


class OurEngine:
    """Sentences of one length through an EngineWorker."""

    def __init__(self, artifact: Artifact, precision: str, num_workers: int) -> None:
        backend = load_backend(artifact, "onnx", precision)
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
