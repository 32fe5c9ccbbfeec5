"""The devices of one model: its graphs on each, and how many engines run there."""

import logging
from collections.abc import Sequence

from server.artifact.artifact import Artifact
from server.backends.base import Backend
from server.backends.load import graph_precision, load_backends
from server.engine.self_test import run_self_test
from server.settings import EngineSettings

logger = logging.getLogger("ringmt")


def load_tested(artifact: Artifact, settings: EngineSettings) -> list[Backend]:
    """The artifact's graphs on every device of the settings, after a self test on each. Raises ArtifactError."""
    backends = load_backends(artifact, settings.backend, settings.precision, settings.shortlist, settings.device)
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


def engine_places(backends: Sequence[Backend], num_workers: int) -> list[Backend]:
    """The backend of each engine: `num_workers` for every device, or as many as it takes; at first one for each."""
    counts = [min(num_workers, backend.device.engines or num_workers) for backend in backends]
    return [
        backend
        for number in range(num_workers)
        for backend, count in zip(backends, counts, strict=True)
        if number < count
    ]
