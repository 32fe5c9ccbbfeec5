"""Rows as a table in Markdown."""

from collections.abc import Mapping, Sequence

from loadtest.hostile.trial import MIB, Row

HEAD = ("input", "size", "status", "seconds", "growth (children)", "worst `/livez`", "short sentence")


def table(rows: Sequence[Row], before: Sequence[Row] = ()) -> str:
    """Hostile rows, then the ordinary ones. With `before`, every cell that was measured has what it was before in front
    of what it is."""
    earlier = {one.name: one for one in before}
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
    for row in sorted(rows, key=lambda row: row.ordinary):
        name = f"*{row.name}*" if row.ordinary else row.name
        cells = [name, size(row.size), *(_both(cell, earlier.get(row.name), cells_of(row)) for cell in range(5))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _both(cell: int, earlier: Row | None, now: Sequence[str]) -> str:
    if earlier is None:
        return now[cell]
    was = cells_of(earlier)[cell]
    return now[cell] if was == now[cell] else f"{was} → {now[cell]}"


def cells_of(row: Row) -> list[str]:
    """Status, seconds, growth, worst /livez, short sentence."""
    status = _counted(row.statuses)
    notes = ", ".join(filter(None, (row.note, row.unwell if row.unwell != "memory kept" else "")))
    growth = f"{row.growth / MIB:.0f} MiB" + (f" ({row.children / MIB:.0f})" if row.children > MIB else "")
    sentence = f"x{row.slower:.1f}" if row.slower else "none"
    return [
        " ".join(filter(None, (status, f"({notes})" if notes else ""))) or "none",
        f"{row.seconds:.2f}",
        growth,
        f"{row.worst_live * 1000:.0f} ms",
        sentence,
    ]


def _counted(statuses: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {status}" if count > 1 else status for status, count in statuses.items())


def size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
