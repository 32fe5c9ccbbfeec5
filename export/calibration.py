"""Activation ranges for int8: the inputs of linear maps while the model translates some text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from export.onnx_graph.linear import OUTPUT
from model.data.batching import Pair, collate
from model.document import DocumentModel
from model.document_search import stack_store, store_sentence
from model.greedy import greedy, source_batch
from model.translation_model import TranslationModel

Ranges = dict[str, float]
"""Module name -> its largest absolute input; under OUTPUT that of the output projection."""

LONGEST = 60
"""Tokens of a translation."""
HEADROOM = 1.25
"""Factor on the ranges of a context layer: inputs in use exceed those of the sample, and clipped inputs may change
words."""


def translations_of(
    model: TranslationModel, sources: Sequence[Sequence[int]], max_length: int = LONGEST, start: Sequence[int] = ()
) -> list[list[int]]:
    """Greedy translations of `sources`, ids as the encoder reads them, that begin with `start`."""
    words = [model.config.source_words(ids) for ids in sources]
    return greedy(model, words, min(max_length, model.config.max_length), start=start)


@torch.no_grad()
def input_ranges(
    model: TranslationModel,
    sources: Sequence[Sequence[int]],
    max_length: int = LONGEST,
    start: Sequence[int] = (),
    translations: Sequence[list[int]] | None = None,
) -> Ranges:
    """The ranges over `translations` of `sources`, by default `translations_of` them."""
    if translations is None:
        translations = translations_of(model, sources, max_length, start)
    if not model.config.is_plain:
        # Weights that do not sum to one are largest where few keys are visible.
        empty = [[model.config.eos_id]]
        sources, translations = [*sources, *empty], [*translations, *translations_of(model, empty, max_length, start)]
    words = [model.config.source_words(ids) for ids in sources]
    most = min(max_length, model.config.max_length)
    with recorded_ranges(model) as ranges:
        for source, target in zip(words, translations, strict=True):  # one by one: padding would widen the ranges
            seen = torch.tensor([[model.config.ids.bos, *target][:most]])
            model.hidden(*source_batch(model, [source]), seen)
    return ranges


@torch.no_grad()
def context_ranges(
    document: DocumentModel,
    sources: Sequence[Sequence[int]],
    alone: Ranges,
    max_length: int = LONGEST,
    translations: Sequence[list[int]] | None = None,
) -> Ranges:
    """The ranges where sentences attend to all others of `sources`, or only to the previous sentence (a mean over fewer
    words is larger). They are at least the ranges of sentences `alone`. `translations`: as in `input_ranges`."""
    words = [document.base.config.source_words(ids) for ids in sources]
    if translations is None:
        translations = translations_of(document.base, sources, max_length)
    targets = [ids[: document.base.config.max_length - 1] for ids in translations]
    others = ~torch.eye(len(words), dtype=torch.bool)
    before = torch.eye(len(words), dtype=torch.bool).roll(-1, dims=1)
    with recorded_ranges(document) as ranges:
        pairs = list(zip(words, targets, strict=True))
        for source, foreign in zip(words, targets[1:], strict=False):  # translations by people differ from the model's
            store_sentence(document, source, foreign)
        store = stack_store([store_sentence(document, *pair) for pair in pairs])  # one by one, as above
        for index, pair in enumerate(pairs):
            for seen in (others, before):
                document.hidden(collate([Pair(*pair)], document.base.config.ids), store, seen[index : index + 1])
    # A weighted mean is at most as large as the values, which are the last tensor of a store.
    ranges["context.attention.output"] = float(store.tensors[-1].abs().max())
    ranges = {site: largest * (HEADROOM if site.startswith("context.") else 1) for site, largest in ranges.items()}
    return {site: max(alone.get(site, 0.0), ranges.get(site, 0.0)) for site in {**alone, **ranges}}


@contextmanager
def recorded_ranges(model: TranslationModel | DocumentModel) -> Iterator[Ranges]:
    """While the context is open, the inputs of every nn.Linear of the model are recorded. A module that is never called
    has no range."""
    largest: Ranges = {}

    def record(site: str, x: Tensor) -> None:
        largest[site] = max(largest.get(site, 0.0), float(x.abs().max()))

    def watch(site: str) -> Callable[[nn.Module, Any], None]:
        return lambda module, arguments: record(site, arguments[0])

    linears = [(name, module) for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    hooks = [module.register_forward_pre_hook(watch(name.removeprefix("base."))) for name, module in linears]
    base = model.base if isinstance(model, DocumentModel) else model
    hooks.append(base.decoder.norm.register_forward_hook(lambda module, arguments, output: record(OUTPUT, output)))
    if isinstance(model, DocumentModel) and not model.on_encoder:
        hooks.append(
            model.context.register_forward_hook(lambda module, arguments, output: record(OUTPUT, output.state))
        )
    try:
        yield largest
    finally:
        for hook in hooks:
            hook.remove()
