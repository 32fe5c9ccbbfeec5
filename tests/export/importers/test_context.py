"""A context layer is trained on imported models and served; the imported weights stay as they are."""

import argparse
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from export.artifact_writer import ExportOptions, export_artifact
from export.import_command import import_command
from export.manifest import manifest_text
from export.unpack import unpack, unpack_command
from model.config import ConfigError, ModelConfig
from model.data.documents import read_documents
from model.greedy import greedy
from model.training.checkpoint import find_vocabulary, load_model
from model.training.document_recipe import DocumentRecipe, load_any_recipe
from model.training.imported import check_trainable, vocabularies
from model.training.recipe import parse_recipe
from model.training.train import Training
from model.training.train_document import DocumentTraining
from server.artifact.artifact import Artifact
from server.artifact.manifest import MANIFEST, read_manifest
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, log_probabilities, translate_now
from server.settings import EngineSettings, Settings
from tests.export.importers.ctranslate2.make_models import SHAPES, write_model
from tests.export.importers.marian_nmt.make_models import DATA
from tests.marian import ENGLISH, Shape, write_marian
from tests.model.runs import SAMPLE
from tests.server.api.conftest import RunningServer, running, until

FP32 = ("--graphs", "onnx-fp32", "--source", "en", "--target", "de")


def marian(shape: Shape) -> Callable[[Path], tuple[str, Path, tuple[str, ...]]]:
    def write(folder: Path) -> tuple[str, Path, tuple[str, ...]]:
        write_marian(folder, shape)
        return "marian", folder, ("--language-token", "deu") if shape.languages else ()

    return write


def marian_nmt(name: str, *vocabularies: str) -> Callable[[Path], tuple[str, Path, tuple[str, ...]]]:
    return lambda folder: ("marian-nmt", DATA / name, ("--vocabulary", *(str(DATA / each) for each in vocabularies)))


def ctranslate2(name: str) -> Callable[[Path], tuple[str, Path, tuple[str, ...]]]:
    def write(folder: Path) -> tuple[str, Path, tuple[str, ...]]:
        write_model(folder, SHAPES[name])
        return "ctranslate2", folder, ()

    return write


FAIRSEQ = "fairseq, learned positions, BOS and EOS, at bfloat16"
MODELS = {
    "Marian: norms behind the sums, swish, a bias": marian(Shape()),
    "two vocabularies, relu": marian(Shape(shared=False, separate=True, activation="relu", layers=1)),
    "a language token": marian(Shape(languages=("deu", "fra"), layers=1)),
    "learned positions, untied, BOS before sources": ctranslate2(FAIRSEQ),
    "SSRU": marian_nmt("student.bin", "vocab.spm", "vocab.spm"),
    "SSRU, norms before, two vocabularies": marian_nmt("pre-norm-ssru.npz", "srcvocab.spm", "trgvocab.spm"),
}


SERVED = ("a language token", "SSRU, norms before, two vocabularies")
ONE = pytest.mark.parametrize("unpacked", SERVED[:1], indirect=True)


@dataclass(frozen=True)
class Unpacked:
    artifact: Path
    checkpoint: Path


@pytest.fixture(scope="module", params=MODELS)
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    folder = tmp_path_factory.mktemp("imported")
    format, path, options = MODELS[request.param](folder / "theirs")
    run_command(import_command, format, path, "--out", folder / "artifact", *FP32, *options)
    run_command(unpack_command, folder / "artifact", folder / "checkpoint")
    return Unpacked(folder / "artifact", folder / "checkpoint")


def run_command(command: Any, *arguments: object) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert command.run(parser.parse_args([str(argument) for argument in arguments])) == 0


def recipe_of(base: Path, folder: Path, **document: object) -> DocumentRecipe:
    layer = {"attention": "sparse-soft", "side": "encoder", "num_heads": 2, "ffn_dim": 32, "dropout": 0.0}
    values = {
        "name": "context",
        "document": {"base": str(base), "layer": layer, "first_gate": 0.6, **document},
        "data": {
            "source": "en", "target": "de", "corpora": {"dialogues": 1}, "dev": {"dialogues": 20},
            "max_pair_length": 40,
        },
        "training": {
            "steps": 4, "batch_tokens": 400, "warmup_steps": 1, "evaluate_every": 4, "precision": "fp32",
            "adam_rate": 0.01,
        },
    }  # fmt: skip
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    recipe = load_any_recipe(path)
    assert isinstance(recipe, DocumentRecipe)
    return recipe


def test_unpacked_weights_translate_as_the_artifact(unpacked: Unpacked) -> None:
    """Greedily, from texts to ids of words, in PyTorch and by the server's engine."""
    model = load_model(unpacked.checkpoint)
    sources, _ = vocabularies(unpacked.checkpoint, model.config)
    artifact = Artifact.load(unpacked.artifact)
    ids = sources.encode(list(ENGLISH))
    ours = greedy(model, ids, 24)
    options = SearchOptions(1, max_length=24)
    read = [Source(tuple(model.config.source_ids(each))) for each in ids]
    theirs = translate_now(load_backend(artifact, "onnx", "fp32", "off"), read, options)
    assert [each[:23] for each in ours] == [[*result.hypotheses[0].ids][:23] for result in theirs]
    assert len({*map(tuple, ours)}) > 3


def test_the_loss_is_that_of_the_served_model(unpacked: Unpacked, tmp_path: Path) -> None:
    """Ids, bias and masks of training, beside the probabilities that the server gives to the same translations."""
    run = DocumentTraining(recipe_of(unpacked.checkpoint, tmp_path), SAMPLE, tmp_path / "context")
    config = run.documents.base.config
    pairs = [
        (tuple(config.source_ids(sentence.pair.source)), (*sentence.pair.target, config.eos_id))
        for document in run.dev_documents["dialogues"]
        for sentence in document
    ]
    scored = log_probabilities(load_backend(Artifact.load(unpacked.artifact), "onnx", "fp32", "off"), pairs)
    numbers = [
        number
        for (_, target), of_target in zip(pairs, scored, strict=True)
        for word, number in zip(target, of_target, strict=True)
        if word != config.unk_id
    ]
    assert len(numbers) > 50
    theirs = -sum(numbers) / len(numbers)
    assert run.dev_scores(with_context=False)["dialogues"] == pytest.approx(theirs, abs=1e-4)


def test_a_context_layer_learns_and_the_imported_weights_stay(unpacked: Unpacked, tmp_path: Path) -> None:
    recipe = recipe_of(unpacked.checkpoint, tmp_path)
    run = DocumentTraining(recipe, SAMPLE, tmp_path / "context")
    first = {name: tensor.clone() for name, tensor in run.documents.context.state_dict().items()}
    before = run.dev_scores()["dialogues"]
    run.run()
    assert run.dev_scores()["dialogues"] < before
    learnt = load_file(tmp_path / "context" / "context.safetensors")
    assert any(not torch.equal(learnt[name], tensor) for name, tensor in first.items())
    theirs, ours = (load_file(folder / "weights.safetensors") for folder in (unpacked.checkpoint, tmp_path / "context"))
    assert theirs.keys() == ours.keys()
    assert all(torch.equal(theirs[name], ours[name]) for name in theirs)


@pytest.mark.parametrize("unpacked", SERVED, indirect=True)
def test_a_model_with_context_is_served(unpacked: Unpacked, tmp_path: Path) -> None:
    DocumentTraining(recipe_of(unpacked.checkpoint, tmp_path), SAMPLE, tmp_path / "context").run()
    is_marian = read_manifest(unpacked.artifact).origin["imported"] == "marian"
    graphs = (("onnx", "fp32"), *((("onnx", "int8"),) if is_marian else ()))  # the random SSRU is off by 1.1 nats
    options = ExportOptions("context", ("en", "de"), graphs, calibration=ENGLISH, examples=ENGLISH[:2])
    differences = export_artifact(tmp_path / "context", tmp_path / "artifact", options)
    assert {f"onnx {precision} context" for _, precision in graphs} < {*differences}  # compared with the model
    old, new = (read_manifest(folder) for folder in (unpacked.artifact, tmp_path / "artifact"))
    for field in ("special_ids", "source_prefix", "forced_eos", "source_vocabulary_size", "max_source_length"):
        assert getattr(old, field) == getattr(new, field)
    with serving(tmp_path / "artifact") as server, serving(unpacked.artifact) as alone, server.client() as client:
        for text in ENGLISH:
            assert server.translate(text).json()["translations"] == alone.translate(text).json()["translations"]
        body = {"text": "\n".join(ENGLISH), "source": "en", "target": "de"}
        document = client.post("/v1/documents", json=body).json()["id"]
        until(lambda: client.get(f"/v1/documents/{document}").json()["state"] == "done", "it is translated")
        answer = client.get(f"/v1/documents/{document}").json()
    assert answer["context"]
    assert [sentence["source"] for sentence in answer["sentences"]] == list(ENGLISH)
    assert any(sentence["translation"] for sentence in answer["sentences"])  # random models also say nothing


@contextlib.contextmanager
def serving(artifact: Path) -> Iterator[RunningServer]:
    engine = EngineSettings(num_workers=1, precision="fp32")
    with running(Settings(engine=engine, models=(artifact,), port=0, log_level="error")) as server:
        until(lambda: server.state.why_not_ready is None, "the model is loaded")
        yield server


@ONE
def test_what_cannot_be_trained_is_refused_by_name(unpacked: Unpacked, tmp_path: Path) -> None:
    base = unpacked.checkpoint
    layer = {"attention": "sparse-soft", "side": "decoder", "num_heads": 2}
    for document, message in (
        ({"train": "all"}, "train: .*checkpoint is an imported model; its weights stay as they are: context_only"),
        ({"layer": layer}, "layer side: .* is an imported model; translations of other sentences are not made here"),
        ({"items": {"x": 3}}, "items: .* contrastive items are scored with one vocabulary: leave it out"),
    ):
        with pytest.raises(ConfigError, match=message):
            DocumentTraining(recipe_of(base, tmp_path, **document), SAMPLE, tmp_path / "out")
    recipe = recipe_of(base, tmp_path)
    drawn = dataclasses.replace(recipe, data=dataclasses.replace(recipe.data, drawn=0.5))
    with pytest.raises(ConfigError, match=r"drawn: .* its words are cut in one way: 0"):
        DocumentTraining(drawn, SAMPLE, tmp_path / "out")
    data = {"source": "en", "target": "de", "corpora": {}, "dev": {}}
    begun = parse_recipe({"name": "on", "start": str(base), "data": data, "training": {"steps": 1}})
    message = "is an imported model, whose words have ids of its own: .* `ringmt distil` makes a student"
    with pytest.raises(ConfigError, match=message):
        Training(begun, SAMPLE, tmp_path / "start")
    with pytest.raises(ConfigError, match=message):
        find_vocabulary(base)


def test_models_without_eos_behind_the_source_are_not_unpacked(tmp_path: Path) -> None:
    write_model(tmp_path / "theirs", SHAPES["OpenNMT-py at int8, without biases"])
    run_command(import_command, "ctranslate2", tmp_path / "theirs", "--out", tmp_path / "artifact", *FP32)
    with pytest.raises(ConfigError, match="artifact 'en-de': sources do not end with EOS, which stands behind"):
        unpack(tmp_path / "artifact", tmp_path / "checkpoint")


def test_models_of_many_languages_are_not_unpacked(tmp_path: Path) -> None:
    write_marian(tmp_path / "theirs", Shape(languages=("deu", "fra"), layers=1))
    run_command(import_command, "marian", tmp_path / "theirs", "--out", tmp_path / "artifact", *FP32[:4])
    with pytest.raises(ConfigError, match="translates between many languages, for which nothing is trained here"):
        unpack(tmp_path / "artifact", tmp_path / "checkpoint")
    assert not (tmp_path / "checkpoint").exists()


@ONE
def test_artifacts_of_older_versions_are_imported_again(unpacked: Unpacked, tmp_path: Path) -> None:
    manifest = read_manifest(unpacked.artifact)
    assert manifest.origin["imported"] in ("marian", "marian-nmt")
    old = {key: value for key, value in manifest.origin.items() if key != "model"}
    folder = tmp_path / "old"
    folder.mkdir()
    for path in unpacked.artifact.iterdir():
        (folder / path.name).symlink_to(path)
    (folder / MANIFEST).unlink()
    (folder / MANIFEST).write_text(manifest_text(dataclasses.replace(manifest, origin=old)), encoding="utf-8")
    with pytest.raises(ConfigError, match="it was imported, or exported by an old version; import or export it again"):
        unpack(folder, tmp_path / "checkpoint")


def test_models_without_an_end_are_refused() -> None:
    shape: dict[str, Any] = {"vocab_size": 20, "d_model": 8, "num_heads": 2}
    check_trainable(ModelConfig(**shape, pad_id=19, bos_id=19, unk_id=1, eos_id=0), "it")
    with pytest.raises(ConfigError, match="it: EOS and padding have one id, 2, so that no loss ends at EOS"):
        check_trainable(ModelConfig(**shape, pad_id=2, eos_id=2), "it")
    with pytest.raises(ConfigError, match="it: sources do not end with EOS"):
        check_trainable(ModelConfig(**shape, source_eos=False), "it")


def test_pieces_without_a_word_and_the_prefix(unpacked: Unpacked) -> None:
    """Documents are read with the ids that the server reads."""
    model = load_model(unpacked.checkpoint)
    sources, targets = vocabularies(unpacked.checkpoint, model.config)
    [document, *_] = read_documents(SAMPLE, "dialogues", ("en", "de"), targets, 200, source_vocabulary=sources)
    manifest = read_manifest(unpacked.artifact)
    for sentence in document:
        assert tuple(sentence.pair.source[: len(manifest.source_prefix)]) == manifest.source_prefix
        assert max(sentence.pair.source) < (manifest.source_vocabulary_size or manifest.vocabulary_size)
        assert max(sentence.pair.target) < manifest.vocabulary_size
