"""The devices of one model: its graphs on each, and how many engines run there."""

import logging
from collections.abc import Sequence

from server.artifact.artifact import Artifact
from server.artifact.manifest import Manifest
from server.backends.base import Backend
from server.backends.load import graph_precision, load_backends, uses_shortlist
from server.engine.self_test import run_self_test
from server.settings import EngineSettings

logger = logging.getLogger("ringmt")
AUTO = "auto"
SHARED_PRODUCT_BYTES = 4 * 2**20
"""If the largest product of a step has weights of so many bytes, two threads that sleep between kernels compute a step
of few sentences faster than one (loadtest/bench/results/README.md)."""
BYTES = {"int8": 1, "fp16": 2, "bf16": 2, "fp32": 4}


def load_tested(artifact: Artifact, settings: EngineSettings) -> list[Backend]:
    """The artifact's graphs on every device of the settings, after a self test on each. Raises ArtifactError."""
    threads = intra_threads(artifact.manifest, settings)
    if threads > 1:
        name = artifact.manifest.name
        logger.info("model '%s': %d threads compute a step while one engine works (--intra-threads)", name, threads)
    backends = load_backends(
        artifact, settings.backend, settings.precision, settings.shortlist, settings.device, threads
    )
    precision = graph_precision(settings.backend, settings.precision)
    for backend in backends:
        test = run_self_test(artifact, backend, settings.backend, precision)
        if test.same < test.count:
            logger.warning(
                "model '%s': %d of its %d examples have other tokens on %s than where it was exported, with scores "
                "that are equal up to rounding",
                artifact.manifest.name,
                test.count - test.same,
                test.count,
                backend.device.name,
            )
    wanted = sum(backend.device.slots for backend in backends)
    if settings.slots < wanted:
        logger.info(
            "model '%s' has %d slots on %s, which is idle for a part of each step with fewer than %d (--slots)",
            artifact.manifest.name,
            settings.slots,
            ", ".join(backend.device.description for backend in backends),
            wanted,
        )
    return backends


def intra_threads(manifest: Manifest, settings: EngineSettings) -> int:
    """Threads that compute a step of a model while no other engine works, at most as many as there are decoding
    threads. Raises ArtifactError, see uses_shortlist."""
    if settings.backend != "onnx" or settings.device != "cpu":
        return 1
    is_large = largest_product_bytes(manifest, settings) >= SHARED_PRODUCT_BYTES
    wanted = (2 if is_large else 1) if settings.intra_threads == AUTO else int(settings.intra_threads)
    return min(wanted, settings.num_workers)


def largest_product_bytes(manifest: Manifest, settings: EngineSettings) -> int:
    """Bytes of the weights of the largest product of a step: of a feed-forward layer, taken to be four times as wide as
    the model, or of the words where a step scores all of them."""
    width = manifest.num_heads * manifest.head_dim
    has_list = uses_shortlist(manifest, settings.backend, settings.precision, settings.shortlist)
    outputs = max(4 * width, 0 if has_list else manifest.vocabulary_size)
    return width * outputs * BYTES[settings.precision]


def engine_places(backends: Sequence[Backend], num_workers: int) -> list[Backend]:
    """The backend of each engine: `num_workers` for every device, or as many as it takes; at first one for each."""
    counts = [min(num_workers, backend.device.engines or num_workers) for backend in backends]
    return [
        backend
        for number in range(num_workers)
        for backend, count in zip(backends, counts, strict=True)
        if number < count
    ]
