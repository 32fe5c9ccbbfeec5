"""A new kind of attention is its file, its entry in the configuration, its recipe row and its test. Here all four are
this file, for a kind that the project does not have: from the formula to searches at int8 nothing else names it."""

import functools
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from export.parity import sample_sources, step_difference
from model.attention.select import build_attention
from model.attention.terms import AttentionTerm
from model.attention.visible_keys import VisibleKeys
from model.config import KINDS, AttentionConfig, Kind, ModelConfig
from model.data.batching import Pair, collate
from model.reference_search import reference_search
from model.training.recipe import RECIPES, load_row
from model.training.train import batch_loss
from model.translation_model import TranslationModel
from server.backends.load import load_backend
from server.engine.synchronous import Source, translate_now
from tests.export.test_int8_search import BEAM, LONGEST, OPTIONS, check
from tests.graphs import ranges_of_random_words, write_graphs
from tests.models import EVERY_KIND, lively_model
from tests.reference.int8 import at_int8
from tests.reference.multi_head import Array, Weights, attention
from tests.scores import teacher_forced
from tests.variants import HEADS, D, assert_formula, every_choice, padded_keep, shake, some_inputs

NAME = "nearness"
ROW = f"""
near:
  vocab_size: 320
  decoder_layers: 2
  max_length: 40
  encoder_attention: {{kind: {NAME}, layers: full, relative: true}}
  decoder_attention: {{kind: {NAME}}}
  cross_attention: {{kind: {NAME}, layers: [2]}}
"""


class Nearness(AttentionTerm):
    """Every head's own slope times the distance between query and key, taken from the energy."""

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.ones(num_heads))

    def energy(self, query: Tensor, key: Tensor, visible: VisibleKeys) -> Tensor:
        """See AttentionTerm.energy."""
        distance = visible.key_position[:, None, None, :] - visible.query_position[:, None, :, None]
        return -self.slope.float()[:, None, None] * distance.abs().float()


def build(config: ModelConfig, wanted: AttentionConfig) -> Nearness:
    return Nearness(config.num_heads)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, NAME, Kind())
    monkeypatch.setitem(sys.modules, f"model.attention.kinds.{NAME}", sys.modules[__name__])


@pytest.fixture
def config(tmp_path: Path) -> ModelConfig:
    """What the recipe row says."""
    shutil.copy(RECIPES / "tiny.yaml", tmp_path)
    (tmp_path / "tiny-rows.yaml").write_text(ROW, encoding="utf-8")
    return load_row(tmp_path / "tiny.yaml", "near").model


def formula(weights: Weights, query: Array, keys: list[Array], distances: list[int]) -> Array:
    added = [[-slope * abs(distance) for distance in distances] for slope in weights[f"terms.{NAME}.slope"]]
    return attention(weights, query, keys, HEADS, np.array(added))


def test_it_is_its_formula() -> None:
    config = ModelConfig.from_dict({"vocab_size": 320, "d_model": D, "num_heads": HEADS} | every_choice(NAME)[NAME])
    module = build_attention(config, "encoder", 1).double()
    shake(module)
    assert_formula(module, some_inputs(padded_keep([7, 3, 1], 7), queries=7), ordered=True, reference=formula)


def test_it_stands_where_the_row_says(config: ModelConfig) -> None:
    assert config.variant == f"Enc({NAME},full,Rel)-Cr({NAME},L2)-Dec({NAME}) N=4"
    places = [
        name.removesuffix(f".terms.{NAME}.slope")
        for name, _ in TranslationModel(config).named_parameters()
        if NAME in name
    ]
    assert places == [
        "encoder.layers.0.self_attention",
        "encoder.layers.1.self_attention",
        "decoder.layers.0.self_attention",
        "decoder.layers.1.cross_attention",
    ]


def test_it_learns(config: ModelConfig) -> None:
    model = TranslationModel(config)
    batch = collate([Pair([5, 6, 7, 8, 9], [15, 16, 17]), Pair([10, 11], [20, 21, 22, 23])])
    batch_loss(model, batch, 0.0)[0].backward()  # type: ignore[no-untyped-call]
    slopes = [parameter for name, parameter in model.named_parameters() if name.endswith("slope")]
    assert all(slope.grad is not None and slope.grad.abs().min() > 0 for slope in slopes)


def test_its_graphs_are_the_model_and_its_int8_searches_the_reference(config: ModelConfig, tmp_path: Path) -> None:
    model = lively_model(config)
    artifact = write_graphs(model, tmp_path, *EVERY_KIND, align=True)
    for format in ("onnx", "torchscript"):
        assert step_difference(model, load_backend(artifact, format, "fp32"), 9) < 1e-4

    twin, sources = at_int8(model, ranges_of_random_words(model)), sample_sources(320, 40)[1:4]
    int8 = load_backend(artifact, "onnx", "int8")
    results = translate_now(int8, [Source(tuple(ids)) for ids in sources], OPTIONS)
    for source, result in zip(sources, results, strict=True):
        (expected,) = reference_search(twin, source, beam_size=BEAM, max_length=LONGEST)
        assert check(result, expected, functools.partial(teacher_forced, twin, source))
