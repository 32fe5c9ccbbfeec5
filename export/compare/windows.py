"""The learned windows of a row: mean widths over many sentences, soft masks over one sentence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from export.compare.plots import LayerMasks, LayerSizes
from model.attention.observe import AttentionCall, record_calls
from model.config import BOS_ID, EOS_ID
from model.data.batching import Pair, collate
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import AnyModel

SENTENCES = 200
"""Sentences of each set that mean widths are taken over."""
EXAMPLE_PIECES = range(6, 12)
"""Both sides of the sentence whose masks are shown have so many pieces."""

Json = list[dict[str, Any]]


@torch.inference_mode()
def mean_window_sizes(model: AnyModel, pairs: Sequence[Pair]) -> Json:
    """Mean D over all queries of all sentences, for every layer with Gaussian localness: site, layer, a number a
    head."""
    total: dict[str, torch.Tensor] = {}
    queries: dict[str, int] = {}
    for pair in pairs:  # one by one: in a batch padding would count as queries
        for name, seen in run(model, pair).items():
            sizes = seen.window_sizes
            if sizes is not None:
                total[name] = total.get(name, 0) + sizes[0, :, :, 0].sum(dim=1)
                queries[name] = queries.get(name, 0) + sizes.shape[2]
    return [site_and_layer(name) | {"sizes": (total[name] / queries[name]).tolist()} for name in total]


@torch.inference_mode()
def window_masks(model: AnyModel, pair: Pair, vocabulary: Vocabulary) -> Json:
    """m over one sentence, for every layer with a differentiable window: site, layer, [head][query][key], labels."""
    source = [*vocabulary.pieces(pair.source), *vocabulary.pieces([EOS_ID])]
    target = vocabulary.pieces([BOS_ID, *pair.target])
    labels = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    results = []
    for name, seen in run(model, pair).items():
        mask = seen.window_mask
        if mask is not None:
            where = site_and_layer(name)
            queries, keys = labels[where["site"]]
            rounded = np.round(mask[0].double().numpy(), 3).tolist()
            results.append(where | {"masks": rounded, "queries": queries, "keys": keys})
    return results


def run(model: AnyModel, pair: Pair) -> dict[str, AttentionCall]:
    """Every attention's call for one sentence."""
    batch = collate([pair])
    with record_calls(model) as calls:
        model.hidden(batch.source, batch.source_keep, batch.target_in)
    return {name: seen for name, (seen,) in calls.items()}


def site_and_layer(name: str) -> dict[str, Any]:
    """ "decoder.layers.0.cross_attention" -> site and layer, counted from 1; a language model is a decoder."""
    *_, number, attention = name.split(".")
    site = "encoder" if name.startswith("encoder.") else "cross" if attention == "cross_attention" else "decoder"
    return {"site": site, "layer": int(number) + 1}


def example_pair(pairs: Sequence[Pair]) -> Pair:
    """The first of a length that can be shown; the shortest where there is none."""
    fitting = [p for p in pairs if len(p.source) in EXAMPLE_PIECES and len(p.target) in EXAMPLE_PIECES]
    return fitting[0] if fitting else min(pairs, key=lambda pair: len(pair.source) + len(pair.target))


def size_panels(row: str, sizes: Json) -> list[LayerSizes]:
    """One panel a site."""
    panels = []
    for site in dict.fromkeys(entry["site"] for entry in sizes):
        entries = [entry for entry in sizes if entry["site"] == site]
        layers = tuple(entry["layer"] for entry in entries)
        panels.append(LayerSizes(f"{row}: {site}", layers, np.array([entry["sizes"] for entry in entries])))
    return panels


def mask_layers(masks: Json) -> list[LayerMasks]:
    return [
        LayerMasks(
            f"{entry['site']} {entry['layer']}", np.array(entry["masks"]), tuple(entry["queries"]), tuple(entry["keys"])
        )
        for entry in masks
    ]
