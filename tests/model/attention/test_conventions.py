"""Models by other people's conventions: what each does, that they are decoded and exported as any other."""

from pathlib import Path

import pytest
import torch
from torch import nn

from export.artifact_writer import write_graph
from export.calibration import input_ranges
from export.manifest import graph_files, make_manifest
from export.parity import step_difference
from export.signature import with_signatures
from model.config import ConfigError, ModelConfig
from model.layers import FeedForward, sinusoidal_positions
from model.reference_search import reference_search
from model.translation_model import TranslationModel
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from tests.models import tiny_config

MARIAN: dict[str, object] = {
    "norm": "after", "activation": "swish", "source_embedding": "separate", "source_vocab_size": 300,
    "output_bias": True, "eos_id": 0, "unk_id": 1, "pad_id": 319, "bos_id": 319, "ngram": None, "max_length": 40,
}  # fmt: skip
"""Norms after the sum, two vocabularies, a bias for every word, a start that is the padding."""
OTHER: dict[str, object] = {
    "activation": "gelu", "positions": "interleaved", "scaled_embedding": False, "tied_output": False,
    "max_length": 40,
}  # fmt: skip
NOWHERE: dict[str, object] = {"norm": "after", "positions": "none", "source_embedding": "separate", "max_length": 40}
CONVENTIONS = {"marian": MARIAN, "other": OTHER, "no positions": NOWHERE}


def model_of(changes: dict[str, object]) -> TranslationModel:
    torch.manual_seed(0)
    config = tiny_config(**changes)
    model = TranslationModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


@pytest.mark.parametrize("name", CONVENTIONS)
def test_eager_torchscript_and_onnx_agree_and_int8_is_close(name: str, tmp_path: Path) -> None:
    model = model_of(CONVENTIONS[name])
    graphs = tuple(graph_files(*kind) for kind in (("onnx", "fp32"), ("torchscript", "fp32"), ("onnx", "int8")))
    manifest = make_manifest(model, "x", ("en", "de"), graphs, "", "", 1.0, {})
    ranges = input_ranges(model, [[*ids, model.config.eos_id] for ids in (range(4, 20), [7, 9], range(100, 110))])
    for graph in graphs:
        write_graph(model, manifest, graph, ranges, tmp_path)
    artifact = Artifact(tmp_path, with_signatures(manifest, tmp_path))
    for graph in graphs:
        backend = load_backend(artifact, graph.format, graph.precision)
        allowed = 1e-4 if graph.precision == "fp32" else 1.0
        assert step_difference(model, backend, 9) < allowed, graph


@pytest.mark.parametrize("name", CONVENTIONS)
@torch.no_grad()
def test_steps_are_teacher_forcing(name: str) -> None:
    model = model_of(CONVENTIONS[name])
    source, target = torch.randint(4, 300, (3, 7)), torch.randint(4, 300, (3, 9))
    keep = torch.ones_like(source, dtype=torch.bool)
    expected = model(source, keep, target)
    rings, cross = model.empty_rings(3), model.decoder.project_source(model.encode(source, keep))
    for position in range(9):
        here = torch.full((3,), position)
        logits, rings = model.step(target[:, position], here, rings, cross, keep)
        torch.testing.assert_close(logits, expected[:, position], atol=1e-4, rtol=0)


def test_searches_begin_and_end_with_the_models_own_ids() -> None:
    model = model_of(MARIAN)
    with torch.no_grad():
        assert model.embedding.output_bias is not None
        model.embedding.output_bias[0] = 50.0
    (result,) = reference_search(model, [5, 6, 0], max_length=5)
    assert (result.ids, result.finish_reason) == ((), "eos")


def test_positions_and_activations_are_the_formulas() -> None:
    halved, interleaved = sinusoidal_positions(7, 8), sinusoidal_positions(7, 8, "interleaved")
    torch.testing.assert_close(interleaved[:, 0::2], halved[:, :4])
    torch.testing.assert_close(interleaved[:, 1::2], halved[:, 4:])
    x = torch.randn(2, 3, 8)
    ffn = FeedForward(8, 16, "swish")
    inner = ffn.expand(x)
    torch.testing.assert_close(ffn(x), ffn.contract(inner * torch.sigmoid(inner)))


def test_defaults_are_todays_models() -> None:
    """Checkpoints from before these keys existed load, under the same parameter names."""
    old = {"vocab_size": 320, "d_model": 32, "num_heads": 2, "ffn_dim": 64, "encoder_layers": 1, "decoder_layers": 1}
    model = TranslationModel(ModelConfig.from_dict(old))
    names = set(model.state_dict())
    assert {"embedding.weight", "encoder.norm.weight", "decoder.norm.bias"} <= names
    assert not {name for name in names if "output_" in name or "source_embedding" in name}
    assert isinstance(TranslationModel(tiny_config(norm="after")).decoder.norm, nn.Identity)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm": "behind"}, "norm must be 'before' or 'after'"),
        ({"activation": "tanh"}, "activation must be 'relu' or 'swish' or 'gelu'"),
        ({"source_vocab_size": 200}, "needs source_embedding 'separate'"),
        ({"eos_id": 320}, "eos_id must be an id of the vocabulary, 0 to 319"),
        ({"tied_output": 1}, "tied_output must be true or false"),
    ],
)
def test_invalid_values_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_config(**changes)
