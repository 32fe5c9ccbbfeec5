"""`ringmt shortlist`: an artifact with the list that it learnt, and what is refused."""

import argparse
import dataclasses
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from export.manifest import manifest_text
from export.onnx_graph.shortlist import ShortlistPlan
from export.shortlists.artifact import add_shortlist, files_of
from export.shortlists.command import shortlist_command
from loadtest.bench.shapes import random_lexicon
from server.artifact.artifact import Artifact, file_hash
from server.artifact.manifest import MANIFEST, ArtifactError, Shortlist, parse_manifest, read_manifest
from server.artifact.signature import LISTED_WORDS
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from server.engine.self_test import run_self_test
from tests.models import SENTENCES, lively_model, tiny_config, write_artifact
from tests.server.engine.runs import translate


def run(*arguments: str | Path) -> None:
    parser = argparse.ArgumentParser()
    shortlist_command.add_arguments(parser)
    assert shortlist_command.run(parser.parse_args([str(argument) for argument in arguments])) == 0


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.en"
    path.write_text("\n".join([*SENTENCES[:8], "", "  "]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def learnt(tiny_artifact: Path, text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("learnt") / "out"
    run(tiny_artifact, "--text", text, "--out", out, "--sizes", "64+64", "--min-confidence", "0.2,0.4")
    return out


def test_the_artifact_has_the_list_and_is_the_same_without_it(tiny_artifact: Path, learnt: Path) -> None:
    old, new = Artifact.load(tiny_artifact), Artifact.load(learnt)
    assert new.manifest.shortlist == Shortlist(64, 64, 0.2, 0.4)
    changed = {"shortlist", "files", "signatures"}
    fields = {field.name for field in dataclasses.fields(new.manifest)} - changed
    assert all(getattr(new.manifest, name) == getattr(old.manifest, name) for name in fields)
    sources = [(5, 6, 7, 3), (300, 20, 3)]
    for precision in ("fp32", "int8"):
        for use in ("on", "off"):
            backend = load_backend(new, "onnx", precision, use)
            test = run_self_test(new, backend, "onnx", precision)
            assert test.count == test.same > 0
        plain, before = (load_backend(artifact, "onnx", precision, "off") for artifact in (new, old))
        for ours, theirs in zip(*(translate(each, sources, SearchOptions(4)) for each in (plain, before)), strict=True):
            assert ours.hypotheses == theirs.hypotheses


def test_words_of_the_text_are_listed(learnt: Path) -> None:
    """What the model itself writes for a sentence of the text is on the list of that sentence."""
    artifact = Artifact.load(learnt)
    rows = [row for row in json.loads((learnt / "golden.json").read_text()) if row["format"] == "onnx"]
    listing, plain = (load_backend(artifact, "onnx", "fp32", use) for use in ("on", "off"))
    sources = sorted({tuple(row["source_ids"]) for row in rows})
    greedy = translate(plain, sources, SearchOptions(1))
    for source, result in zip(sources, greedy, strict=True):
        (encoded,) = listing.encode(np.array([source]), np.ones((1, len(source)), np.int32))
        words = encoded.on_host(LISTED_WORDS)
        assert words is not None
        missing = {*result.hypotheses[0].ids} - {*words.tolist()}
        assert len(missing) <= len(set(result.hypotheses[0].ids)) / 3


def test_a_list_is_replaced_in_place_and_the_same_options_give_the_same_files(
    learnt: Path, text: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    run(learnt, "--text", text, "--out", again, "--sizes", "128+64", "--min-confidence", "0,0")
    assert read_manifest(again).shortlist == Shortlist(128, 64)
    run(again, "--text", text, "--sizes", "64+64", "--min-confidence", "0.2,0.4")
    ours, theirs = (contents_of(folder) for folder in (again, learnt))
    assert ours == theirs
    assert [path.name for path in tmp_path.iterdir()] == ["again"]


def test_what_cannot_be_done_is_refused_and_leaves_the_artifact(
    tiny_artifact: Path, text: Path, tmp_path: Path
) -> None:
    before = {path.name: file_hash(path) for path in tiny_artifact.iterdir()}
    empty = tmp_path / "empty"
    empty.write_text("\n")
    for options, error in (
        ((), "of 320 words saves no time; --sizes names others"),
        (("--sizes", "off"), "a shortlist has a size"),
        (("--sizes", "65+64"), "multiples of 64, not 65"),
        (("--sizes", "256+64"), r"longer than the vocabulary \(317\)"),
        (("--min-confidence", "0.3,1.1"), "two probabilities, like 0.4,1, not '0.3,1.1'"),
        (("--sizes", "64+64", "--text", str(empty)), "has no sentences"),
    ):
        with pytest.raises(ValueError, match=error):
            run(tiny_artifact, "--text", text, *options)
    assert {path.name: file_hash(path) for path in tiny_artifact.iterdir()} == before


TRACED = (("torchscript", "fp32"),)


def test_an_artifact_of_torchscript_graphs_learns_and_gets_a_list(tmp_path: Path, text: Path) -> None:
    """With an output bias, which its files hold in another form than the model."""
    model = lively_model(tiny_config(encoder_layers=1, decoder_layers=1, output_bias=True))
    assert model.embedding.output_bias is not None
    with torch.no_grad():
        model.embedding.output_bias.copy_(torch.randn(320, generator=torch.Generator().manual_seed(0)))
    folder = write_artifact(model, tmp_path / "traced", graphs=TRACED)
    before = Artifact.load(folder)
    run(folder, "--text", text, "--sizes", "64+64", "--min-confidence", "0.2,0.4")
    artifact = Artifact.load(folder)
    changed = {name for name, value in artifact.manifest.files.items() if before.manifest.files.get(name) != value}
    assert changed == {"golden.json", "step-shortlist.fp32.pt"}
    listed, plain = (load_backend(artifact, "torchscript", "fp32", use) for use in ("auto", "off"))
    assert (listed.shortlist, plain.shortlist) == (True, False)
    for backend in (listed, plain):
        test = run_self_test(artifact, backend, "torchscript", "fp32")
        assert test.count == test.same > 0
    with zipfile.ZipFile(folder / "step-shortlist.fp32.pt") as archive:
        shared = json.loads(archive.read("step-shortlist.fp32/extra/shared.json"))
        largest = max(info.file_size for info in archive.infolist() if "/data/" in info.filename)
    assert len({name for _, name in shared.values()}) > 8, "weights are in the other files"
    assert largest < 320 * 32 * 4, "all words' columns are there"


def test_traced_graphs_of_older_exports_stay_without_a_list(
    tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = lively_model(tiny_config(encoder_layers=1, decoder_layers=1))
    folder = write_artifact(model, tmp_path / "older", graphs=(("onnx", "fp32"), *TRACED))
    values = json.loads((folder / MANIFEST).read_text())
    for graph in values["graphs"]:
        graph |= {"step_shortlist": "", **({"score": ""} if graph["format"] == "torchscript" else {})}
    (folder / MANIFEST).write_text(json.dumps(values))
    run(folder, "--text", text, "--sizes", "64+64")
    assert "torchscript fp32 has no shortlist" in capsys.readouterr().out
    assert [bool(graph.step_shortlist) for graph in read_manifest(folder).graphs] == [True, False]
    values["graphs"] = [graph for graph in values["graphs"] if graph["format"] == "torchscript"]
    with pytest.raises(ArtifactError, match="has graphs of an older export only"):
        add_shortlist(Artifact(folder, parse_manifest(json.dumps(values), "")), some_plan(), tmp_path / "out")


def some_plan() -> ShortlistPlan:
    return ShortlistPlan.of(random_lexicon(320), 64, 64)


def contents_of(folder: Path) -> dict[str, object]:
    """The files of an artifact but for names that torch gives to classes of which a process has several."""
    files: dict[str, object] = {**read_manifest(folder).files}
    for path in folder.glob("step-shortlist.*.pt"):
        with zipfile.ZipFile(path) as archive:
            parts = {re.sub(r"/?___torch_mangle_\d+", "", name): archive.read(name) for name in archive.namelist()}
        kept = {name: part for name, part in parts.items() if not name.endswith(("serialization_id", "debug_pkl"))}
        files[path.name] = {name: re.sub(rb"\.?___torch_mangle_\d+", b"", part) for name, part in kept.items()}
    return files


def test_artifacts_without_the_graphs_are_refused(tmp_path: Path, text: Path) -> None:
    model = lively_model(tiny_config(encoder_layers=1, decoder_layers=1))
    folder = write_artifact(model, tmp_path / "blind", graphs=(("onnx", "fp32"),))
    manifest = read_manifest(folder)
    graphs = tuple(dataclasses.replace(graph, align="") for graph in manifest.graphs)
    assert "align.fp32.onnx" in files_of(manifest.graphs[0])
    (folder / MANIFEST).write_text(manifest_text(dataclasses.replace(manifest, graphs=graphs)))
    with pytest.raises(ArtifactError, match="has no graph that aligns words"):
        run(folder, "--text", text, "--sizes", "64+64")
