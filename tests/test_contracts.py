"""Import contracts catch violations, which are planted in a copy of the import graph."""

import copy
from functools import cache
from pathlib import Path

import grimp
import pytest
from importlinter import Contract
from importlinter.application.use_cases import read_user_options
from importlinter.configuration import configure
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

configure()
OPTIONS = read_user_options(str(Path(__file__).parent.parent / "pyproject.toml"))
TYPES: dict[str, type[Contract]] = {
    "forbidden": ForbiddenContract,
    "independence": IndependenceContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}
PLANTED = [
    ("server.corpus.spread", "server.translation.translator"),
    ("server.documents.service", "torch"),
    ("server.documents.batches", "server.documents.leases"),
    ("server.documents.job", "server.documents.job_runner"),
    ("server.stores.memory", "numpy"),
    ("server.stores.memory", "server.text.split.plan"),
    ("server.stores.records", "server.documents.service"),
    ("server.documents.expiry", "redis"),
    ("server.telemetry.tracing", "opentelemetry"),
    ("server.api.mcp.route", "mcp"),
    ("server.api.native.files", "server.api.mcp.tools"),
    ("server.files.parsing", "server.scheduling.fair_queue"),
    ("server.files.messages", "asyncio"),
    ("server.api.native.files", "server.files.formats.registry"),
    ("server.api.native.documents", "server.files.formats.office"),
    ("server.cli.serve", "ray"),
    ("server.api.app", "server.ray_deployment"),
    ("server.telemetry.tracing", "server.telemetry.logs"),
    ("server.cli.serve", "onnxruntime"),
    ("server.translation.translator", "onnxruntime"),
    ("server.backends.state", "torch"),
    ("server.backends.base", "server.engine.request"),
    ("server.artifact.manifest", "server.backends.base"),
    ("server.engine.scheduler", "numpy"),
    ("server.engine.engine", "torch"),
    ("server.engine.worker", "server.documents.service"),
    ("server.documents.service", "server.api.app"),
    ("server.settings", "server.telemetry.metrics"),
    ("server.api.native.files", "server.api.app"),
    ("server.api.serving.finished_files", "server.api.admission.api_route"),
    ("server.api.requests.body", "server.api.serving.server_state"),
    ("server.api.deepl.routes", "server.api.libretranslate.route"),
    ("server.scheduling.fair_queue", "server.engine.request"),
    ("server.runtime.offload", "server.engine.scheduler"),
    ("server.text.base.words", "server.text.split.plan"),
    ("server.glossaries.service", "server.translation.glossary"),
    ("server.keys.ring", "server.api.requests.errors"),
    ("server.stores.keys", "server.keys.record"),
    ("model.data.corpus", "model.synthetic.context.nouns"),
    ("model.synthetic.words.command", "model.evaluation.word_accuracy"),
    ("server.text.split.sentences", "server.engine.request"),
    ("server.api.app", "export.manifest"),
    ("server.artifact.manifest", "model.config"),
    ("model.attention.kinds.localness", "model.attention.kinds.window"),
    ("model.attention.kinds.window", "model.attention.kinds.relative"),
    ("model.attention.terms", "model.attention.kinds.window"),
    ("model.data.batching", "model.attention.kinds.window"),
    ("model.layers", "model.decoder"),
    ("model.reference_search", "model.training.train"),
    ("model.config", "server.artifact.manifest"),
    ("model.symbolic", "model.layers"),
    ("model.masks", "model.config"),
    ("model.attention.sparsemax", "model.attention.selective"),
    ("server.artifact.signature", "server.artifact.manifest"),
    ("server.telemetry.labels", "server.telemetry.metrics"),
    ("export.parity", "loadtest.bench.measure"),
    ("export.parity", "export.compare.rows"),
    ("export.manifest", "server.api.native.schemas"),
    ("export.manifest", "server.documents.service"),
    ("loadtest.bench.measure", "export.compare.claims"),
    ("loadtest.locustfile", "server.settings"),
    ("loadtest.texts", "model.data.corpus"),
]


@cache
def imports() -> grimp.ImportGraph:
    return grimp.build_graph(*OPTIONS.session_options["root_packages"], include_external_packages=True, cache_dir=None)


def broken(graph: grimp.ImportGraph) -> list[str]:
    """The names of the contracts that the graph breaks."""
    results = []
    for values in OPTIONS.contracts_options:
        options = {name: value for name, value in values.items() if name not in ("name", "type")}
        contract = TYPES[values["type"]](values["name"], OPTIONS.session_options, options)
        if not contract.check(copy.deepcopy(graph), verbose=False).kept:
            results.append(values["name"])
    return results


def test_the_tree_keeps_its_contracts() -> None:
    assert broken(imports()) == []


@pytest.mark.parametrize(("importer", "imported"), PLANTED, ids=lambda name: str(name))
def test_a_planted_violation_is_caught(importer: str, imported: str) -> None:
    graph = copy.deepcopy(imports())
    assert importer in graph.modules
    assert imported in graph.modules
    graph.add_import(importer=importer, imported=imported)
    assert broken(graph)


@pytest.mark.parametrize("module", ["server.new", "model.new", "model.attention.new"])
def test_a_new_module_needs_a_layer(module: str) -> None:
    graph = copy.deepcopy(imports())
    graph.add_module(module)
    assert broken(graph)


def test_a_new_kind_of_attention_is_kept_apart_and_needs_no_line_for_it() -> None:
    graph = copy.deepcopy(imports())
    graph.add_module("model.attention.kinds.new")
    assert broken(graph) == []
    graph.add_import(importer="model.attention.kinds.new", imported="model.attention.kinds.window")
    assert broken(graph)
