"""What windows learned is read from the modules as they run."""

from pathlib import Path

import numpy as np
import pytest
import torch

from export.compare.windows import example_pair, mask_layers, mean_window_sizes, size_panels, window_masks
from model.attention.kinds.localness import NARROWEST, GaussianLocalness
from model.attention.observe import record_calls
from model.data.batching import Pair, collate
from model.data.vocabulary import Vocabulary, train_vocabulary
from model.language_model import LanguageModel
from tests.models import SENTENCES, tiny_config
from tests.variants import lively_variant

PAIRS = [Pair([5, 9, 14], [7, 8]), Pair([30, 31, 32, 33, 34, 35], [40, 41, 42, 43, 44])]


def test_a_layers_size_is_the_mean_over_all_queries() -> None:
    model = lively_variant("gauss-query")
    localness = model.get_submodule("encoder.layers.1.self_attention.terms.localness")
    assert isinstance(localness, GaussianLocalness)
    given: list[torch.Tensor] = []
    original = localness.window_size

    def spy(*args: torch.Tensor) -> torch.Tensor:
        given.append(original(*args))  # type: ignore[arg-type]
        return given[-1]

    localness.window_size = spy  # type: ignore[method-assign, assignment]
    with torch.inference_mode():
        for pair in PAIRS:
            batch = collate([pair])
            model.hidden(batch.source, batch.source_keep, batch.target_in)
    expected = torch.cat([size[0, :, :, 0] for size in given], dim=1).mean(dim=1)
    assert expected.shape == (2,)
    sizes = {(entry["site"], entry["layer"]): entry["sizes"] for entry in mean_window_sizes(model, PAIRS)}
    assert set(sizes) == {(site, layer) for site in ("encoder", "decoder", "cross") for layer in (1, 2)}
    assert sizes["encoder", 2] == pytest.approx(expected.tolist(), rel=1e-5)


@pytest.mark.parametrize("name", ["gauss-fixed", "gauss-layer", "gauss-head", "gauss-query"])
def test_sizes_are_those_of_their_kind(name: str) -> None:
    model = lively_variant(name)
    if name == "gauss-head":
        for module in model.modules():
            if isinstance(module, GaussianLocalness):
                module.head_window.data = torch.tensor([-10.0, 0.0])
    for entry in mean_window_sizes(model, PAIRS):
        if name == "gauss-fixed":
            assert entry["sizes"] == [10, 10]
        elif name == "gauss-head":
            assert entry["sizes"] == pytest.approx([NARROWEST, 25 + NARROWEST], abs=0.01)
        else:
            assert all(NARROWEST < size < 7 + NARROWEST for size in entry["sizes"])
            assert entry["sizes"][0] != entry["sizes"][1]


@pytest.mark.parametrize("name", ["mw", "aw", "segments"])
def test_masks_are_those_that_the_model_computes(name: str, tmp_path: Path) -> None:
    train_vocabulary(SENTENCES * 4, 320, tmp_path / "v.model")
    model, vocabulary = lively_variant(name, ngram=None), Vocabulary(tmp_path / "v.model")
    layers = mask_layers(window_masks(model, PAIRS[1], vocabulary))
    assert [layer.title for layer in layers[:2]] == ["encoder 1", "encoder 2"]
    assert len(layers) == 6
    for layer in layers:
        queries, keys = (7 if "encoder" in layer.title else 6), (6 if "decoder" in layer.title else 7)
        assert layer.masks.shape == (2, queries, keys) == (2, len(layer.queries), len(layer.keys))
        assert 0 <= layer.masks.min() < layer.masks.max() <= 2
        if "decoder" in layer.title:
            assert np.all(layer.masks[:, *np.triu_indices(6, 1)] == 0)
            assert layer.masks[:, 0, 0] == pytest.approx([2, 2])
    if name == "segments":
        assert np.all(layers[0].masks[:, :, 0] == layers[0].masks[:, :, 2])


def test_only_windows_are_read_and_nothing_is_left_behind() -> None:
    model = lively_variant("relative")
    assert mean_window_sizes(model, PAIRS) == []
    with record_calls(model) as calls:
        pass
    batch = collate(PAIRS[:1])
    model.hidden(batch.source, batch.source_keep, batch.target_in)
    assert calls == {}


def test_a_language_models_windows_are_its_decoders() -> None:
    torch.manual_seed(0)
    model = LanguageModel(tiny_config(encoder_layers=0, decoder_attention={"kind": "localness"})).eval()
    (entry,) = mean_window_sizes(model, PAIRS)
    assert (entry["site"], entry["layer"], len(entry["sizes"])) == ("decoder", 1, 2)
    (panel,) = size_panels("lm", [entry])
    assert (panel.title, panel.layers, panel.sizes.shape) == ("lm: decoder", (1,), (1, 2))


def test_the_example_sentence_has_a_suitable_length() -> None:
    long = Pair(list(range(4, 40)), list(range(4, 40)))
    fitting = Pair(list(range(4, 11)), list(range(4, 12)))
    assert example_pair([long, PAIRS[0], fitting]) is fitting
    assert example_pair([long, PAIRS[0]]) is PAIRS[0]
