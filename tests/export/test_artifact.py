"""Artifacts: written whole or not at all, read only if nothing is missing or changed."""

import dataclasses
import hashlib
import json
import random
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from export import artifact_writer
from export.artifact_writer import ExportError, ExportOptions, export_artifact
from export.commands import graph_kinds
from export.evaluate import evaluate, reference_nll
from export.onnx_writer import write_onnx
from export.parity import ParityError
from model.config import SPECIAL_IDS
from model.data.batching import Pair, collate
from model.data.corpus import read_corpus
from model.data.vocabulary import Vocabulary
from model.synthetic.context.write import write_documents
from model.synthetic.everyday.typed import with_typo
from model.training.checkpoint import VOCABULARY, load_model
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact, file_hash
from server.artifact.manifest import FORMAT, MANIFEST, ArtifactError, parse_manifest
from server.backends.load import load_backend
from server.cli import main as cli
from server.engine.request import SearchOptions
from server.engine.self_test import GOLDEN, SelfTestResult, run_self_test
from server.text.base.pieces import VocabularyError
from server.translation.loaded_model import open_vocabularies
from tests.models import SENTENCES, lively_model, tiny_config, write_checkpoint

SAMPLE = Path(__file__).parent.parent / "sample"


@pytest.fixture
def copied(tiny_artifact: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_artifact, tmp_path / "copy"))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(lively_model(tiny_config()), tmp_path_factory.mktemp("checkpoint"))


def test_the_manifest_describes_the_artifact(tiny_artifact: Path) -> None:
    manifest = Artifact.load(tiny_artifact).manifest
    assert (manifest.name, manifest.variant, manifest.order, manifest.ring_capacity) == ("tiny", "ngram-4", 4, 3)
    assert manifest.precisions == ("int8", "fp32")
    text = json.dumps(dataclasses.asdict(manifest))
    assert parse_manifest(text, "here") == manifest


def test_a_manifest_that_does_not_name_special_ids_has_our_own(tiny_artifact: Path) -> None:
    values = json.loads((tiny_artifact / MANIFEST).read_text(encoding="utf-8"))
    assert values.pop("special_ids") == SPECIAL_IDS._asdict()
    assert dataclasses.asdict(parse_manifest(json.dumps(values), "here").special_ids) == SPECIAL_IDS._asdict()


def test_a_vocabulary_that_ends_sentences_otherwise_is_refused(copied: Path) -> None:
    path = copied / MANIFEST
    values = json.loads(path.read_text(encoding="utf-8"))
    values["special_ids"]["eos"] = 5
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(VocabularyError, match=r"unk, eos = \(1, 3\), the model \(1, 5\): repeat `ringmt export`"):
        open_vocabularies(Artifact.load(copied))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "step.int8.onnx").unlink(), "step.int8.onnx is missing"),
        (lambda folder: (folder / "step.int8.onnx").write_bytes(b"x"), "step.int8.onnx is not the file"),
        (lambda folder: (folder / MANIFEST).unlink(), "has no manifest.json"),
        (
            lambda folder: (folder / MANIFEST).write_text("{}"),
            "format None, this server reads 5: repeat `ringmt export`",
        ),
        (lambda folder: (folder / MANIFEST).write_text(f'{{"format": {FORMAT}}}'), "is not a manifest"),
    ],
)
def test_a_damaged_artifact_is_refused_and_the_file_named(copied: Path, change: object, message: str) -> None:
    change(copied)  # type: ignore[operator]
    with pytest.raises(ArtifactError, match=message):
        Artifact.load(copied)


def test_a_missing_kind_of_graph_lists_the_available_kinds(tiny_artifact: Path) -> None:
    artifact = Artifact.load(tiny_artifact)
    with pytest.raises(ArtifactError, match="no torchscript graphs at int8; it has onnx int8, onnx fp32"):
        load_backend(artifact, "torchscript", "int8")
    with pytest.raises(ArtifactError, match="unknown backend 'tensorrt'"):
        load_backend(artifact, "tensorrt", "int8")


def test_a_file_is_hashed_without_being_held(tmp_path: Path) -> None:
    content = random.Random(0).randbytes(1 << 20) * 16
    (tmp_path / "graph").write_bytes(content)
    tracemalloc.start()
    try:
        result = file_hash(tmp_path / "graph")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result == hashlib.sha256(content).hexdigest()
    assert peak < len(content) / 8


def test_goldens_are_replayed_token_for_token_and_tell_another_graph(copied: Path) -> None:
    artifact = Artifact.load(copied)
    assert run_self_test(artifact, load_backend(artifact, "onnx", "int8"), "onnx", "int8") == SelfTestResult(4, 4)
    rows = json.loads((copied / GOLDEN).read_text(encoding="utf-8"))
    for row in rows:
        row["normalized_score"] -= 1
    (copied / GOLDEN).write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(ArtifactError, match="translates its own examples differently"):
        run_self_test(artifact, load_backend(artifact, "onnx", "int8"), "onnx", "int8")


CHANGES: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "no examples of these graphs": lambda rows: [item for item in rows if item["precision"] != "int8"],
    "no examples of these graphs .* in golden.json": lambda rows: [],
    "none of 4 has the tokens": lambda rows: [item | {"target_ids": [7, *item["target_ids"]]} for item in rows],
    "score .* instead of nan": lambda rows: [item | {"normalized_score": float("nan")} for item in rows],
}


@pytest.mark.parametrize("change", CHANGES)
def test_goldens_that_show_nothing_are_not_passed(copied: Path, change: str) -> None:
    artifact = Artifact.load(copied)
    rows = json.loads((copied / GOLDEN).read_text(encoding="utf-8"))
    (copied / GOLDEN).write_text(json.dumps(CHANGES[change](rows)), encoding="utf-8")
    with pytest.raises(ArtifactError, match=change):
        run_self_test(artifact, load_backend(artifact, "onnx", "int8"), "onnx", "int8")


def test_one_golden_with_equal_tokens_is_enough_and_is_reported(copied: Path) -> None:
    """Near ties fall otherwise on other processors."""
    artifact = Artifact.load(copied)
    rows = json.loads((copied / GOLDEN).read_text(encoding="utf-8"))
    others = [item | {"target_ids": [7]} for item in rows]
    kept = [row for row in rows if row["precision"] == "int8" and row["shortlist"]][:1]
    changed = [row if row in kept else other for row, other in zip(rows, others, strict=True)]
    (copied / GOLDEN).write_text(json.dumps(changed), encoding="utf-8")
    assert run_self_test(artifact, load_backend(artifact, "onnx", "int8"), "onnx", "int8") == SelfTestResult(4, 1)


def test_a_graph_that_computes_something_else_is_not_written(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ExportOptions("x", ("en", "de"), (("onnx", "fp32"),), calibration=SENTENCES[:2], examples=SENTENCES[:1])
    export_artifact(checkpoint, tmp_path / "out", options)
    before = (tmp_path / "out" / MANIFEST).read_bytes()
    other = write_checkpoint(lively_model(tiny_config(), seed=5), tmp_path / "other")
    wrong = load_model(other)

    def write_another_model(model: TranslationModel, *arguments: Any) -> None:
        write_onnx(wrong, *arguments)

    monkeypatch.setattr(artifact_writer, "write_onnx", write_another_model)
    with pytest.raises(ParityError, match="onnx fp32: log-probabilities differ"):
        export_artifact(checkpoint, tmp_path / "out", options)
    assert (tmp_path / "out" / MANIFEST).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


def test_weights_that_are_not_numbers_are_not_exported(checkpoint: Path, tmp_path: Path) -> None:
    broken = Path(shutil.copytree(checkpoint, tmp_path / "broken"))
    weights = load_file(broken / "weights.safetensors")
    weights["decoder.norm.bias"] = torch.full_like(weights["decoder.norm.bias"], float("nan"))
    save_file(weights, broken / "weights.safetensors")
    with pytest.raises(ParityError):
        export_artifact(broken, tmp_path / "out", ExportOptions("x", ("en", "de"), (("onnx", "fp32"),)))


def test_int8_asks_for_sentences_to_calibrate_with(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="int8 needs sentences"):
        export_artifact(checkpoint, tmp_path / "out", ExportOptions("x", ("en", "de")))


def test_the_same_checkpoint_gives_the_same_files(checkpoint: Path, tmp_path: Path) -> None:
    options = ExportOptions("x", ("en", "de"), (("onnx", "int8"),), calibration=SENTENCES[:3], examples=SENTENCES[:2])
    for name in ("one", "two"):
        export_artifact(checkpoint, tmp_path / name, options)
    first, two = (Artifact.load(tmp_path / name).manifest.files for name in ("one", "two"))
    assert first == two


def test_the_command_writes_an_artifact_and_evaluates_it(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "artifact"
    arguments = ["--name", "x", "--source", "en", "--target", "de", "--graphs", "onnx-int8,onnx-fp32"]
    assert cli.main(["export", str(checkpoint), str(out), *arguments]) == 0
    assert "onnx int8" in capsys.readouterr().out
    scores = tmp_path / "scores.json"
    twice = ["evaluate", str(out), "--data", str(SAMPLE), "--sets", "tatoeba-dev", "--graphs", "onnx-int8,onnx-fp32"]
    assert cli.main(twice) == 1
    assert "run it once for each" in capsys.readouterr().err
    command = ["evaluate", str(out), "--data", str(SAMPLE), "--sets", "tatoeba-dev", "--json", str(scores)]
    assert cli.main(command) == 0
    shown = capsys.readouterr().out
    assert "| tatoeba-dev | 60 |" in shown
    assert "nrefs:1|case:mixed" in shown
    (row,) = json.loads(scores.read_text(encoding="utf-8"))
    artifact = Artifact.load(out)
    direct = evaluate(
        artifact, SAMPLE, ["tatoeba-dev"], load_backend(artifact, "onnx", "int8"), SearchOptions(max_length=64)
    )
    assert row["bleu"] == direct[0].bleu
    assert row["nll"] == direct[0].nll is not None


def test_typing_errors_are_made_in_sources_only(tiny_artifact: Path, tmp_path: Path) -> None:
    pairs = read_corpus(SAMPLE, "tatoeba-dev", "en", "de")
    sources = [with_typo(pair.source, random.Random(f"tatoeba-dev/{number}")) for number, pair in enumerate(pairs)]
    assert sum(source != pair.source for source, pair in zip(sources, pairs, strict=True)) > 30
    write_documents(
        [[(source, pair.target) for source, pair in zip(sources, pairs, strict=True)]],
        tmp_path,
        "tatoeba-dev",
        ("en", "de"),
    )
    artifact = Artifact.load(tiny_artifact)
    backend, options = load_backend(artifact, "onnx", "fp32"), SearchOptions(max_length=64)
    slips = evaluate(artifact, SAMPLE, ["tatoeba-dev"], backend, options, slips=True)
    assert slips == evaluate(artifact, tmp_path, ["tatoeba-dev"], backend, options)
    assert slips != evaluate(artifact, SAMPLE, ["tatoeba-dev"], backend, options)


def test_references_are_as_probable_as_the_model_finds_them(checkpoint: Path, tiny_artifact: Path) -> None:
    artifact, vocabulary = Artifact.load(tiny_artifact), Vocabulary(checkpoint / VOCABULARY)
    pairs = [pair for pair in read_corpus(SAMPLE, "tatoeba-dev", "en", "de") if len(pair.target) < 40][:20]
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    backend = load_backend(artifact, "onnx", "fp32")
    model = load_model(checkpoint)
    total, tokens = 0.0, 0
    for source, target in zip(*map(vocabulary.encode, sides), strict=True):
        batch = collate([Pair(source, target)])
        logits = model.embedding.logits(model.hidden(batch.source, batch.source_keep, batch.target_in)).detach()
        logits[..., list(model.config.ids.suppressed)] = -1e9  # nobody can say them, so they take no probability
        total -= float(torch.log_softmax(logits, -1)[0].gather(1, batch.target_out.T).sum())
        tokens += len(target) + 1
    traced = load_backend(artifact, "torchscript", "fp32")
    for each in (backend, traced):
        assert reference_nll(artifact, *sides, each) == pytest.approx(total / tokens, abs=1e-4)
    without = tuple(dataclasses.replace(graph, score="") for graph in artifact.manifest.graphs)
    older = Artifact(artifact.folder, dataclasses.replace(artifact.manifest, graphs=without))
    assert reference_nll(older, *sides, load_backend(older, "torchscript", "fp32")) is None


def test_an_unknown_kind_of_graphs_lists_the_choices() -> None:
    with pytest.raises(ValueError, match="onnx-int8, onnx-fp32, torchscript-fp32"):
        graph_kinds("onnx-int4")
