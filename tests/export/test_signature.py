"""The manifest's signatures: read from the graphs, checked against the model, and believed by backends."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import onnxruntime
import pytest

from export.manifest import in_lines
from export.signature import SignatureError, check, read_signature, role_of, step_signature
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN, ArtifactError, parse_manifest
from server.artifact.signature import LOG_PROBABILITY, Signature, Tensor
from server.backends.load import load_backend

ROLES = {
    "token": "row", "next_token": "row", "key_age": "row", "ring.1.left_key": "ring", "next_ring.1.left_key": "ring",
    "source_keep": "source", "source.0.value": "source", "shortlist.scale": "source", "memory": "source",
    "target_ids": "document", "word_keep": "document", "sentence_key": "document", "word_value.3": "document",
    "candidate_parent": "result", LOG_PROBABILITY: "result", "word_weights.2": "result", "new_memory": "result",
}  # fmt: skip


@pytest.mark.parametrize(("name", "role"), ROLES.items())
def test_every_kind_of_tensor_has_its_role(name: str, role: str) -> None:
    assert role_of(name) == role


def test_a_tensor_that_no_server_knows_is_refused() -> None:
    with pytest.raises(SignatureError, match="tensor temperature, which is unknown to the server"):
        role_of("temperature")


@pytest.mark.parametrize("side", ["none", "encoder", "decoder"])
def test_the_manifest_lists_every_tensor_of_every_graph(
    tiny_artifact: Path, document_artifacts: dict[str, Path], side: str
) -> None:
    artifact = Artifact.load(tiny_artifact if side == "none" else document_artifacts[side])
    files = {name for name in artifact.manifest.files if name.endswith((".onnx", ".pt"))}
    assert artifact.manifest.signatures.keys() == files
    for name in files:
        signature = artifact.manifest.signatures[name]
        if name.endswith(".pt"):
            continue
        session = onnxruntime.InferenceSession(str(artifact.path(name)), providers=["CPUExecutionProvider"])
        for listed, present in ((signature.inputs, session.get_inputs()), (signature.outputs, session.get_outputs())):
            assert [entry.name for entry in listed] == [entry.name for entry in present]
            for array, other in zip(listed, present, strict=True):
                assert len(array.axes) == len(other.shape)
                for axis, size in zip(array.axes, other.shape, strict=True):
                    assert not isinstance(axis, int) or axis == size
                kind = {"float32": "float", "float16": "float16"}.get(array.dtype, array.dtype)
                assert other.type == f"tensor({kind})"


def test_a_manifest_survives_its_own_text(document_artifact: Path) -> None:
    manifest = Artifact.load(document_artifact).manifest
    text = in_lines(dataclasses.asdict(manifest))
    assert parse_manifest(text, "here") == manifest
    assert max(map(len, text.splitlines())) < 200


Change = Callable[[Tensor], Tensor | None]
WRONG: list[tuple[str, Change, str]] = [
    ("ring.0.key", lambda tensor: None, r"nothing where the model has ring\.0\.key float32"),
    ("source.1.value", lambda tensor: dataclasses.replace(tensor, dtype="float64"), r"source\.1\.value float64"),
    (
        "token",
        lambda tensor: dataclasses.replace(tensor, axes=("slot",)),
        r"token int64 \[slot\] where .* \[slot, beam\]",
    ),
    ("next_score", lambda tensor: None, "nothing where the model has next_score"),
]


@pytest.mark.parametrize(("name", "change", "message"), WRONG, ids=[name for name, _, _ in WRONG])
def test_a_graph_with_other_tensors_than_the_model_is_refused(
    tiny_model: TranslationModel, name: str, change: Change, message: str
) -> None:
    planned = step_signature(tiny_model)
    check(planned, planned, "step.onnx")
    sides = (
        tuple(new for entry in side if (new := change(entry) if entry.name == name else entry) is not None)
        for side in (planned.inputs, planned.outputs)
    )
    with pytest.raises(SignatureError, match=message):
        check(Signature(*sides), planned, "step.onnx")


def test_rows_that_a_graph_does_not_read_may_be_missing_and_nothing_else(tiny_model: TranslationModel) -> None:
    planned = step_signature(tiny_model)
    refused = set()
    for missing in planned.inputs:
        fewer = tuple(input_ for input_ in planned.inputs if input_ != missing)
        try:
            check(Signature(fewer, planned.outputs), planned, "step.onnx")
        except SignatureError:
            refused.add(missing.name)
    assert refused == {input_.name for input_ in planned.inputs if input_.role != "row"}
    assert "key_age" not in refused


@pytest.fixture
def copied(tiny_artifact: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_artifact, tmp_path / "copy"))


def changed(folder: Path, change: Callable[[list[Tensor]], list[Tensor]]) -> Artifact:
    """The artifact with other inputs of its step listed."""
    artifact = Artifact.load(folder)
    signatures = dict(artifact.manifest.signatures)
    step = signatures["step.fp32.onnx"]
    signatures["step.fp32.onnx"] = Signature(tuple(change(list(step.inputs))), step.outputs)
    return Artifact(folder, dataclasses.replace(artifact.manifest, signatures=signatures))


def test_a_manifest_that_lists_other_tensors_than_its_graph_is_refused(copied: Path) -> None:
    artifact = changed(copied, lambda inputs: [input_ for input_ in inputs if input_.name != "position"])
    with pytest.raises(ArtifactError, match=r"step.fp32.onnx and its manifest disagree about position: repeat"):
        load_backend(artifact, "onnx", "fp32", "off")


def test_a_tensor_of_another_type_than_the_engines_is_refused(copied: Path) -> None:
    artifact = changed(
        copied,
        lambda inputs: [
            dataclasses.replace(input_, dtype="int32") if input_.name == "token" else input_ for input_ in inputs
        ],
    )
    backend = load_backend(artifact, "onnx", "fp32", "off")
    with pytest.raises(ArtifactError, match=r"reads token as int32 \['slot', 'beam'\], here it is int64"):
        backend.bind(backend.new_state(1, 2, 8))


def test_an_older_artifact_is_refused_with_what_to_do(copied: Path) -> None:
    path = copied / "manifest.json"
    values = json.loads(path.read_text(encoding="utf-8")) | {"format": 4}
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ArtifactError, match="format 4, this server reads 5") as caught:
        Artifact.load(copied)
    assert EXPORT_AGAIN in str(caught.value)


def test_signatures_are_read_as_they_were_planned(tiny_artifact: Path, tiny_model: TranslationModel) -> None:
    result = read_signature(tiny_artifact / "step.fp32.onnx", step_signature(tiny_model))
    planned = {input_.name: input_ for input_ in step_signature(tiny_model).inputs}
    assert all(planned[input_.name] == input_ for input_ in result.inputs)
