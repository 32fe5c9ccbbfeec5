"""Attacks on a server. The suite runs each in a short form; `make chaos` sets CHAOS_SCALE, runs each so many times
longer, and shows the figures of server/PROMISES.md."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.chaos.wellbeing import assert_well, warm_up
from tests.server.processes import Served, serving

FLAGS = ("--log-level", "error", "--translation-cache-bytes", "0")  # the same request is work every time


@contextlib.contextmanager
def serving_documents(artifact: Path, kept_in: Path) -> Iterator[Served]:
    """A server process with documents in a file of the folder `kept_in`."""
    flags = ["--context-store", f"sqlite:///{kept_in}/documents.db", "--document-lease", "1", *FLAGS]
    with serving(artifact, *flags) as served:
        yield served
        assert_well(served)


@pytest.fixture(scope="package")
def served(document_artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving_documents(document_artifact, tmp_path_factory.mktemp("chaos")) as served:
        yield served


@pytest.fixture(scope="package")
def counted(document_artifact: Path) -> Iterator[Served]:
    """A server process whose threads, open files and processes are counted after a warm-up. It has one parser process,
    and full thread pools: of several, some would start later."""
    with serving(document_artifact, *FLAGS, "--file-processes", "1", program="tests.server.full_pools") as served:
        warm_up(served)
        yield served
        assert_well(served)
