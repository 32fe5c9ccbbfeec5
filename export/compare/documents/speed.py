"""How fast documents are decoded, with context and without."""

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from model.document import DocumentModel
from model.document_greedy import greedy_document
from model.greedy import greedy
from model.translation_model import TranslationModel

Decode = Callable[[], list[list[int]]]


def words_per_second(
    decoders: dict[str, Decode], count_words: Callable[[list[list[int]]], int], rounds: int
) -> dict[str, float]:
    """Words over seconds of processor time (other programs' turns do not count), in turn, medians of `rounds`."""
    speeds: dict[str, list[float]] = {name: [] for name in decoders}
    for decode in decoders.values():
        decode()
    for _ in range(rounds):
        for name, decode in decoders.items():
            begin = time.process_time()
            ids = decode()
            speeds[name].append(count_words(ids) / (time.process_time() - begin))
    return {name: median(found) for name, found in speeds.items()}


def decoder_of(
    model: TranslationModel | DocumentModel, documents: Sequence[list[list[int]]], max_length: int
) -> Decode:
    """Greedy, document by document, in batches of one document: offline where there is context, its states and on the
    decoder's side its first pass included."""

    def decode() -> list[list[int]]:
        with torch.no_grad():
            if isinstance(model, DocumentModel):
                found = [greedy_document(model, sources, False, max_length) for sources in documents]
            else:
                found = [greedy(model, sources, max_length, batch_rows=32) for sources in documents]
        return [ids for document in found for ids in document]

    return decode
