"""The graphs of random models."""

import dataclasses
from pathlib import Path

from export.artifact_writer import write_graph
from export.calibration import input_ranges
from export.manifest import graph_files, make_manifest
from export.signature import with_signatures
from loadtest.bench.shapes import random_model, random_plan
from loadtest.bench.sources import random_sources
from model.config import ModelConfig
from server.artifact.artifact import Artifact
from server.artifact.manifest import Shortlist


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
