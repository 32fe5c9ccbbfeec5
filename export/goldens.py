"""The goldens of an artifact: examples with the translations of each of its graphs."""

from collections.abc import Sequence
from typing import Any

from export.parity import GraphPair
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, translate_now


def goldens_of(pair: GraphPair, examples: Sequence[tuple[int, ...]]) -> list[dict[str, Any]]:
    """Every example (ids with EOS) translated by a pair of graphs, without context and, where the graphs support
    context, again as the last sentence of a document of all examples before it."""
    sources, backend, rows = list(examples), pair.backend, []
    requests = [Source(ids) for ids in sources]
    results = translate_now(backend, requests, SearchOptions())
    if backend.context is not None:
        targets = [result.hypotheses[0].ids for result in results] if backend.context.side == "decoder" else []
        within = [
            Source(ids, tuple(sources[:index]), tuple(targets[:index])) for index, ids in enumerate(sources) if index
        ]
        requests, results = requests + within, results + translate_now(backend, within, SearchOptions())
    for source, result in zip(requests, results, strict=True):
        best = result.hypotheses[0]
        row = {
            "format": pair.graph.format, "precision": pair.graph.precision,
            "shortlist": backend.shortlist, "source_ids": source.ids, "target_ids": best.ids,
            "normalized_score": round(best.normalized_score, 4),
        }  # fmt: skip
        row |= {"context_ids": source.preceding} if source.preceding else {}
        rows.append(row | ({"context_target_ids": source.translations} if source.translations else {}))
    return rows
