"""At int8 a model of any shape differs little from the model at fp32, where its weights are as transformers draws them;
a model that int8 changes is refused, with what to do."""

import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from export.artifact_writer import ExportOptions, write_artifact
from export.importers.language_tokens import Wanted, many_languages
from export.importers.m2m100.folder import M2M100Folder
from export.importers.m2m100.load import load_m2m100
from export.onnx_graph.linear import ROWS
from export.parity import ParityError, step_difference
from model.masks import HIDDEN
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from tests.m2m100 import Shape, write_m2m100
from tests.models import SENTENCES

LARGEST = 0.3
"""Times the spread of a step's log-probabilities. Measured: 0.01 to 0.2; of graphs with other words 2 and more."""


def import_model(folder: Path, out: Path, precision: str) -> TranslationModel:
    """Write the artifact of a checkpoint; returns the model of which its graphs are made."""
    opened = M2M100Folder.open(folder)
    wanted = Wanted(None, None, "de,en", None)
    languages = many_languages(opened.language_tokens(opened.words()), wanted, folder)
    assert languages is not None
    content = load_m2m100(opened, languages, folder, None, 64)
    options = ExportOptions(
        "m", ("en", "de"), (("onnx", precision),), calibration=SENTENCES[:12], examples=SENTENCES[:4]
    )
    write_artifact(content, out, options)
    return content.model


def spread(model: TranslationModel, sources: list[list[int]]) -> float:
    """The standard deviation of a first step's log-probabilities."""
    ids = torch.tensor([sources[0]])
    with torch.no_grad():
        logits = model.embedding.logits(model.hidden(ids, torch.ones_like(ids, dtype=torch.bool), ids[:, :1]))
    return float(logits[logits > HIDDEN / 2].std())


@settings(max_examples=4, deadline=None)
@given(
    d_model=st.sampled_from([16, 64]),
    layers=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    made_up=st.sampled_from([8, ROWS - 300, 2 * ROWS + 1]),
    init_std=st.sampled_from([0.02, 0.05, 0.1]),
    scaled=st.booleans(),
)
def test_int8_differs_little_at_every_shape(
    d_model: int, layers: tuple[int, int], made_up: int, init_std: float, scaled: bool
) -> None:
    shape = Shape(
        d_model=d_model, heads=d_model // 16, ffn=4 * d_model, encoder_layers=layers[0], decoder_layers=layers[1],
        scaled=scaled, init_std=init_std, made_up=made_up,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_m2m100(folder / "checkpoint", shape)
        model = import_model(folder / "checkpoint", folder / "out", "int8")
        artifact = Artifact.load(folder / "out")
        backend = load_backend(artifact, "onnx", "int8")
        words, eos = model.config.vocab_size, model.config.eos_id
        sources = [[words - 1, 5, eos], [7, words // 2, 40, 9, 60, eos]]
        assert step_difference(model, backend, 12, sources) < LARGEST * spread(model, sources)


def test_a_model_that_int8_changes_is_refused_with_what_to_do(tmp_path: Path) -> None:
    write_m2m100(tmp_path / "checkpoint", Shape(d_model=64, heads=2, ffn=256))
    with pytest.raises(ParityError, match=r"onnx int8: .* allowed 1: rounding to int8 .*--calibration.*onnx-fp32"):
        import_model(tmp_path / "checkpoint", tmp_path / "out", "int8")
    assert not (tmp_path / "out").exists()
