"""A list that came with a model, with steps that score all words where the model is unsure."""

from pathlib import Path
from typing import Literal

import pytest

from export.artifact_text import ArtifactText
from export.importers.shortlists import guarded, plan_of
from model.config import ModelConfig
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from server.engine.self_test import run_self_test
from server.engine.synchronous import Source, translate_now
from tests.export.importers.ctranslate2.make_models import Shape, write_model
from tests.export.importers.marian_nmt.test_files import run_import

WORDS = 1400
SENTENCES = ["A house", "The bread is here", "Where is the house", "Bread"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a map of words that lists nothing that it says."""
    folder = tmp_path_factory.mktemp("listed") / "model"
    write_model(folder, Shape(two_vocabularies=True, more_words=WORDS))
    (folder / "vmap.txt").write_text("\t</s>\n▁the\t<more 7>\n", encoding="utf-8")
    return folder


def imported(folder: Path, out: Path, *options: str, format: str = "onnx") -> Artifact:
    pair = ("--source", "en", "--target", "de", "--graphs", f"{format}-fp32")
    return run_import("ctranslate2", folder, "--out", out, *pair, *options)


def translations(
    artifact: Artifact, use_list: Literal["on", "off"], beam: int, format: str = "onnx"
) -> list[tuple[int, ...]]:
    sources = ArtifactText(artifact.folder, artifact.manifest).readable_sources(SENTENCES)
    backend = load_backend(artifact, format, "fp32", use_list)
    options = SearchOptions(beam_size=beam, max_length=12)
    return [result.hypotheses[0].ids for result in translate_now(backend, [Source(ids) for ids in sources], options)]


@pytest.mark.parametrize("beam", [1, 4])
def test_a_model_that_is_unsure_says_what_it_says_without_its_list(beam: int, folder: Path, tmp_path: Path) -> None:
    plain, safe = imported(folder, tmp_path / "plain"), imported(folder, tmp_path / "safe", "--min-confidence", "1,1")
    every_word = translations(plain, "off", beam)
    assert translations(plain, "on", beam) != every_word
    assert translations(safe, "on", beam) == every_word == translations(safe, "off", beam)
    listed = safe.manifest.shortlist
    assert listed is not None
    assert (listed.min_confidence, listed.min_confidence_rare) == (1, 1)
    assert (plain.manifest.origin, plain.manifest.files[plain.manifest.vocabulary_file]) == (
        safe.manifest.origin, safe.manifest.files[safe.manifest.vocabulary_file],
    )  # fmt: skip
    result = run_self_test(safe, load_backend(safe, "onnx", "fp32"), "onnx", "fp32")
    assert result.same == result.count > 0


def test_torchscript_graphs_alone_have_the_guarded_list(folder: Path, tmp_path: Path) -> None:
    safe = imported(folder, tmp_path / "safe", "--min-confidence", "1,1", format="torchscript")
    assert translations(safe, "on", 4, "torchscript") == translations(safe, "off", 4, "torchscript")
    backend = load_backend(safe, "torchscript", "fp32")
    assert backend.shortlist
    result = run_self_test(safe, backend, "torchscript", "fp32")
    assert result.same == result.count > 0


def test_sentences_with_pieces_without_list_are_searched_among_all_words(folder: Path, tmp_path: Path) -> None:
    """Here all have one."""
    safe = imported(folder, tmp_path / "rare", "--min-confidence", "0,1")
    assert translations(safe, "on", 4) == translations(safe, "off", 4)


def test_pieces_are_rare_that_are_listed_for_themselves_alone() -> None:
    config = ModelConfig(4001, d_model=64, ngram=None, pad_id=4000, unk_id=1, bos_id=4000, eos_id=0)
    plan = plan_of([[], [3000], [2], [3000, 3001]], config)
    assert plan is not None
    widening = guarded(plan, (0.25, 0.75)).widening
    assert widening is not None
    assert (widening.min_confidence, widening.min_confidence_rare) == (0.25, 0.75)
    assert widening.rare[:5].tolist() == [True, False, True, False, True]
