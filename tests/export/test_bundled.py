"""The bundled model: what int8 costs, and that its weights in the zoo are the ones that are served."""

from pathlib import Path

import pytest

from export.artifact_writer import ExportOptions, export_artifact
from export.commands import EXAMPLES, lines
from export.evaluate import evaluate
from server.artifact import Artifact
from server.engine.request import SearchOptions
from server.settings import BUNDLED_MODELS

ROOT = Path(__file__).parent.parent.parent
CHECKPOINT = ROOT / "model" / "zoo" / "en-de"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """The zoo's checkpoint at both precisions."""
    out = tmp_path_factory.mktemp("bundled") / "en-de"
    served = Artifact.load(BUNDLED_MODELS / "en-de").manifest
    options = ExportOptions(
        served.name,
        (served.source_language, served.target_language),
        (("onnx", "int8"), ("onnx", "fp32")),
        length_penalty=served.length_penalty,
        calibration=lines(EXAMPLES),
        examples=lines(EXAMPLES)[:2],
    )
    export_artifact(CHECKPOINT, out, options)
    return Artifact.load(out)


def test_the_zoo_and_the_bundled_artifact_are_the_same_model(exported: Artifact) -> None:
    served = Artifact.load(BUNDLED_MODELS / "en-de")
    for name in ("encode.int8.onnx", "step.int8.onnx", "vocabulary.model"):
        assert exported.manifest.files[name] == served.manifest.files[name]


def test_int8_translates_as_well_as_fp32(exported: Artifact) -> None:
    """On 60 sentences that training did not see; on whole test sets the README shows differences up to 0.2 BLEU."""
    options = SearchOptions(length_penalty=exported.manifest.length_penalty)
    int8, fp32 = (
        evaluate(exported, ROOT / "tests" / "sample", ["tatoeba-dev"], "onnx", precision, options)[0]
        for precision in ("int8", "fp32")
    )
    assert fp32.bleu > 25
    assert int8.bleu > fp32.bleu - 1
    assert int8.chrf > fp32.chrf - 1
