"""Fixtures that several test folders share."""

import contextlib
import functools
import gc
import importlib
import inspect
import logging
import os
import ssl
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
import torch
from hypothesis import settings

from model.document import DocumentModel
from model.translation_model import TranslationModel
from tests.build_once import build_once
from tests.children import PATIENCE
from tests.documents import ContextArtifact, lively_document_model, write_document_artifact
from tests.models import lively_model, tiny_config, write_artifact
from tests.time_limit import time_limit

torch.set_num_threads(1)
settings.register_profile("any machine", settings.default, deadline=None)  # one that is busy takes long for anything
settings.load_profile("any machine")


COLLECTING = ("server.api.app", "server.api.serving.retired_models", "server.api.serving.models_on_demand")
"""Modules that call `server.runtime.trim_heap.collect`."""


gc.disable()  # until all tests are collected: they hold a million objects, which a collection visits in vain


def pytest_collection(session: pytest.Session) -> None:
    """Each of several processes that collect all tests first imports a share of them, and so compiles it for the rest:
    in a new checkout, all of them compiled all tests at the same time. What is wrong with a module is said when the
    module is collected."""
    name, count = os.environ.get("PYTEST_XDIST_WORKER"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if name is None or session.config.args != session.config.getini("testpaths"):
        return
    modules = sorted(path.relative_to(session.config.rootpath) for path in Path(__file__).parent.rglob("test_*.py"))
    for module in modules[int(name.removeprefix("gw")) :: count]:
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(module.with_suffix("").parts))


def limited(item: pytest.Item) -> AbstractContextManager[None]:
    """The limit of a test, or what its mark `time_limit` says."""
    mark = item.get_closest_marker("time_limit")
    return time_limit(*mark.args) if mark else time_limit()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    with limited(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with limited(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    with limited(item):
        yield


def pytest_collection_finish() -> None:
    """Full garbage collections, which servers ask for when a model comes or goes, skip what thousands of test items
    hold."""
    gc.enable()
    gc.collect()
    gc.freeze()
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            # pytest adds its handlers to every logger that hands nothing on, six times a test: PyTorch has forty.
            logger.propagate = True


@pytest.fixture(scope="session", autouse=True)
def _servers_leave_test_items_frozen() -> Iterator[None]:
    """A server in the process of the tests collects its garbage, and does not unfreeze what is not its own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in COLLECTING:
            if name in sys.modules:
                patch.setattr(f"{name}.collect", gc.collect)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_tls_context() -> Iterator[None]:
    """Every HTTP client loads all certificates, which takes 50 ms of processor; the tests make thousands of clients and
    none of them speaks TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient_http_clients() -> Iterator[None]:
    """By default, httpx gives up after five seconds, which a busy machine may take for any answer."""
    by_default = inspect.signature(httpx.Client).parameters["timeout"].default
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "read", "write", "pool"):
            patch.setattr(by_default, name, PATIENCE)
        yield


@pytest.fixture(scope="session")
def tiny_model() -> TranslationModel:
    return lively_model(tiny_config())


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this test run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def tiny_artifact(tiny_model: TranslationModel, shared: Path) -> Path:
    """An artifact of `tiny_model` with every kind of graph (English to German by name only)."""
    return build_once(shared / "tiny", lambda folder: write_artifact(tiny_model, folder)) / "tiny"


@pytest.fixture(scope="session")
def document_model() -> DocumentModel:
    return lively_document_model()


@pytest.fixture(scope="session")
def bilingual_model() -> DocumentModel:
    """Its context is on the decoder's side."""
    return lively_document_model(side="decoder")


@pytest.fixture(scope="session")
def document_artifact(document_model: DocumentModel, shared: Path) -> Path:
    """The artifact of `document_model` at fp32 and int8."""
    return build_once(shared / "encoder", lambda folder: write_document_artifact(document_model, folder)) / "documents"


@pytest.fixture(scope="session")
def bilingual_artifact(bilingual_model: DocumentModel, shared: Path) -> Path:
    """The artifact of `bilingual_model` at fp32 and int8."""

    def write(folder: Path) -> None:
        write_document_artifact(bilingual_model, folder, "bilingual")

    return build_once(shared / "decoder", write) / "bilingual"


@pytest.fixture(scope="session")
def document_artifacts(document_artifact: Path, bilingual_artifact: Path) -> dict[str, Path]:
    """Side of the context -> artifact."""
    return {"encoder": document_artifact, "decoder": bilingual_artifact}


@pytest.fixture(scope="session")
def context_artifact(shared: Path, request: pytest.FixtureRequest) -> ContextArtifact:
    """(attention, side) -> an artifact of `lively_document_model(attention, side)` at fp32, or more."""

    def get(attention: str, side: str) -> Path:
        if attention == "sparse-soft":  # of the fixtures above
            made: Path = request.getfixturevalue("document_artifact" if side == "encoder" else "bilingual_artifact")
            return made

        def write(folder: Path) -> None:
            write_document_artifact(lively_document_model(attention, side), folder, graphs=(("onnx", "fp32"),))

        return build_once(shared / f"{attention}-{side}", write) / "documents"

    return get
