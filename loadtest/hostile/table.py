"""Rows as a Markdown table."""

from collections.abc import Mapping, Sequence

from loadtest.hostile.trial import MIB, Row

HEAD = ("input", "size", "status", "seconds", "growth (children)", "worst `/livez`", "short sentence")


def table(rows: Sequence[Row], before: Sequence[Row] = ()) -> str:
    """Hostile inputs, then ordinary inputs. With `before`, changed cells have the earlier value and the new value."""
    earlier = {row.name: row for row in before}
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
    for row in sorted(rows, key=lambda row: row.ordinary):
        name = f"*{row.name}*" if row.ordinary else row.name
        cells = [name, size(row.size), *(_compare(cell, earlier.get(row.name), cells_of(row)) for cell in range(5))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _compare(cell: int, earlier: Row | None, cells: Sequence[str]) -> str:
    if earlier is None:
        return cells[cell]
    before = cells_of(earlier)[cell]
    return cells[cell] if before == cells[cell] else f"{before} → {cells[cell]}"


def cells_of(row: Row) -> list[str]:
    """Status, seconds, growth, worst /livez, short sentence."""
    status = _format_counts(row.statuses)
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


def _format_counts(statuses: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {status}" if count > 1 else status for status, count in statuses.items())


def size(count: int) -> str:
    if count < 1000:
        return f"{count} B"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
