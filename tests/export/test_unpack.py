"""Artifacts give their weights back: exactly at fp32; at int8 those that give the same levels again."""

import argparse
import dataclasses
import json
from pathlib import Path

import onnx
import pytest
import torch
from onnx import numpy_helper
from safetensors.torch import load_file

from export.artifact_writer import ExportOptions, export_artifact
from export.manifest import manifest_text
from export.unpack import unpack, unpack_command
from model.config import ConfigError
from model.data.vocabulary import Vocabulary
from model.greedy import greedy
from model.training.checkpoint import SUMMARY, VOCABULARY, WEIGHTS, load_config, load_model
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import read_manifest
from server.settings import BUNDLED_MODELS
from tests.models import SENTENCES, lively_model, tiny_config, write_checkpoint
from tests.variants import lively_variant


def exported(checkpoint: Path, out: Path, *precisions: str) -> Path:
    options = ExportOptions(
        name="unpacked", languages=("en", "de"), graphs=tuple(("onnx", precision) for precision in precisions),
        licence="CC0-1.0", shortlist=(64, 64), calibration=SENTENCES[:4], examples=SENTENCES[:2],
    )  # fmt: skip
    export_artifact(checkpoint, out, options)
    return out


def levels(artifact: Path) -> dict[str, bytes]:
    """Every constant of levels in the graphs, by name."""
    loaded = Artifact.load(artifact)
    graphs = loaded.manifest.graph("onnx", "int8")
    constants = [
        item for name in (graphs.encode, graphs.step) for item in onnx.load(loaded.path(name)).graph.initializer
    ]
    return {
        constant.name: numpy_helper.to_array(constant).tobytes()
        for constant in constants
        if constant.name.endswith(".int8")
    }


ONE_LAYER: dict[str, int] = {"encoder_layers": 1, "decoder_layers": 1}
MODELS = {
    "ring": lambda: lively_model(tiny_config()),
    "full, embeddings not scaled": lambda: lively_model(tiny_config(ngram=None, scaled_embedding=False)),
    # Louder ones are too far from int8.
    "localness and relative positions": lambda: lively_variant("gauss-query-relative", loudness=1, **ONE_LAYER),
    "windows": lambda: lively_variant("aw", loudness=1, **ONE_LAYER),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> TranslationModel:
    return MODELS[request.param]()


def test_weights_of_fp32_graphs_are_those_of_the_model(model: TranslationModel, tmp_path: Path) -> None:
    checkpoint = write_checkpoint(model, tmp_path / "checkpoint")
    config = unpack(exported(checkpoint, tmp_path / "artifact", "fp32"), tmp_path / "unpacked")
    assert config == model.config
    actual, expected = (load_file(folder / WEIGHTS) for folder in (tmp_path / "unpacked", checkpoint))
    assert actual.keys() == expected.keys()
    assert all(torch.equal(actual[name], expected[name]) for name in expected)
    assert (tmp_path / "unpacked" / VOCABULARY).read_bytes() == (checkpoint / VOCABULARY).read_bytes()


def test_int8_weights_have_the_same_levels_when_exported_again(model: TranslationModel, tmp_path: Path) -> None:
    checkpoint = write_checkpoint(model, tmp_path / "checkpoint")
    artifact = exported(checkpoint, tmp_path / "artifact", "int8")
    unpack(artifact, tmp_path / "unpacked")
    again = levels(exported(tmp_path / "unpacked", tmp_path / "again", "int8"))
    assert again == levels(artifact)
    assert len(again) > 8
    actual, expected = load_model(tmp_path / "unpacked"), load_model(checkpoint)
    for (name, first), (_, other) in zip(actual.named_parameters(), expected.named_parameters(), strict=True):
        width = other.abs().max() / 64  # of a level
        torch.testing.assert_close(first, other, atol=width.item() / 2 + 1e-6, rtol=0, msg=name)


def test_the_bundled_model_without_weights_of_its_own_can_be_trained_on(tmp_path: Path) -> None:
    """`start` in a recipe names what `ringmt unpack` wrote."""
    parser = argparse.ArgumentParser()
    unpack_command.add_arguments(parser)
    args = parser.parse_args([str(BUNDLED_MODELS / "de-en"), str(tmp_path / "de-en")])
    assert unpack_command.run(args) == 0
    assert load_config(tmp_path / "de-en").ngram == 8
    summary = json.loads((tmp_path / "de-en" / SUMMARY).read_text(encoding="utf-8"))
    assert summary["unpacked_from"] == "de-en, int8"
    assert summary["recipe"] == read_manifest(BUNDLED_MODELS / "de-en").origin["recipe"]
    vocabulary = Vocabulary(tmp_path / "de-en" / VOCABULARY)
    result = greedy(load_model(tmp_path / "de-en"), vocabulary.encode(["Das Haus ist alt."]), 20)
    assert vocabulary.decode(result) == ["The house is old."]
    with pytest.raises(ConfigError, match="de-en is not empty: name a folder that does not exist yet"):
        unpack_command.run(args)


def test_artifacts_of_other_weights_are_refused(tmp_path: Path) -> None:
    checkpoint = write_checkpoint(lively_model(tiny_config()), tmp_path / "checkpoint")
    artifact = exported(checkpoint, tmp_path / "artifact", "fp32")
    manifest = read_manifest(artifact)
    described = {**tiny_config().to_dict(), "d_model": 16}
    for change, message in (
        ({"origin": {"imported": "marian"}}, "has no model configuration: it was imported"),
        ({"origin": {"model": described}}, r"do not hold embedding.weight \(\d+ of \d+ weights are missing\)"),
        ({"graphs": ()}, "has no ONNX graphs to read weights from"),
    ):
        (artifact / "manifest.json").write_text(manifest_text(dataclasses.replace(manifest, **change)))
        with pytest.raises(ConfigError, match=message):
            unpack(artifact, tmp_path / "unpacked")
    assert not (tmp_path / "unpacked").exists()
