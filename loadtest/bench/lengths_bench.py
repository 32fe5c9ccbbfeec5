"""Time per step and ring memory at growing target lengths."""

from loadtest.bench.measure import CompetitorOptions, Workload, alternate, competitors, median
from loadtest.bench.report import Row
from loadtest.bench.shapes import shape

LENGTHS = (25, 100, 400)
BATCH, BEAM, SOURCE = 8, 4, 25


def cache_bytes(name: str, order: int | None, length: int) -> int:
    """Bytes of keys and values that one sentence's beams need: 2 x layers x beam x entries x d x 4, in fp32.

    The ring has N-1 entries whatever the length; full attention needs one for every token.
    """
    config = shape(name, order)
    entries = length if order is None else order - 1
    return 2 * config.decoder_layers * BEAM * entries * config.d_model * 4


def length_rows(
    name: str, precision: str, rounds: int, with_peer: bool, lengths: tuple[int, ...] = LENGTHS
) -> list[Row]:
    """Microseconds per step (a token for every sentence), N=8 and full attention, and cache bytes per sentence."""
    options = [CompetitorOptions("ours", name, precision, order) for order in (8, None)]
    if with_peer:
        options.append(CompetitorOptions("ctranslate2", name, precision, None))
    rows = []
    with competitors(options) as processes:
        for length in lengths:
            speeds = alternate(processes, Workload(BATCH, BEAM, SOURCE, length), rounds)
            steps = [1e6 * BATCH / median(speed) for speed in speeds]
            peer = steps[-1] if with_peer else None
            for label, order, step in (("N=8", 8, steps[0]), ("full attention", None, steps[1])):
                title = f"{name} {precision} length {length}, {label}"
                rows.append(Row(f"{title}: step", step, peer, None if peer is None else step / peer, "us"))
                rows.append(Row(f"{title}: cache per sentence", cache_bytes(name, order, length), None, None, "bytes"))
    return rows
