"""The figures of imported models' shapes in loadtest/bench/results are those of its files."""

import re

import pytest

from tests.test_results import ROOT, measured, table

PAGE = (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8")
LISTED = ", shortlist"


def kind(shape: str) -> str:
    return "no ring" if shape.startswith("firefox") else "full attention"


def figures(case: str, file: str) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """The rows of ours with a list, the same beside the peer with a list, and ours over all words."""
    found = re.fullmatch(r"(\S+), beam (\d), (\d+) sentences?", case)
    assert found is not None
    shape, beam, batch = found.groups()
    name, rows = f"{shape} int8 beam {beam} batch {batch}, {kind(shape)}", measured(file)
    return rows[name + LISTED], rows[f"{name}{LISTED} (peer{LISTED})"], rows[name]


@pytest.mark.parametrize(
    ("head", "file"),
    [
        ("imported shape (tokens/s)", "imported"),
        ("imported shape, VNNI (tokens/s)", "imported-vnni"),
        ("imported shape, Zen 5 (tokens/s)", "imported-zen5"),
    ],
)
def test_the_speed_of_imported_shapes_is_what_was_measured(head: str, file: str) -> None:
    rows = table(head, PAGE)
    for case, *cells in rows:
        listed, both, whole = figures(case, file)
        speeds = [listed["ours"], whole["ours"], both["peer"], whole["peer"]]
        ratios = [listed["ratio"], whole["ratio"], both["ratio"]]
        assert cells == [*(f"{speed:,.0f}" for speed in speeds), *(f"{ratio:.2f}" for ratio in ratios)]
    assert len(rows) == sum(row.endswith((", full attention", ", no ring")) for row in measured(file))


def test_the_speed_beside_transformers_is_what_was_measured() -> None:
    rows = table("fp32, Zen 5 (tokens/s)", PAGE)
    for case, *cells in rows:
        found = re.fullmatch(r"(\S+), beam (\d), (\d+) sentences?", case)
        assert found is not None
        shape, beam, batch = found.groups()
        name = f"{shape} fp32 beam {beam} batch {batch}, {kind(shape)}"
        listed, whole = measured("imported-fp32")[name + LISTED], measured("imported-fp32")[name]
        speeds = [listed["ours"], whole["ours"], whole["peer"]]
        assert cells == [*(f"{speed:,.0f}" for speed in speeds), f"{listed['ratio']:.2f}", f"{whole['ratio']:.2f}"]
    assert len(rows) == 6
    theirs, ours = (measured("imported-fp32")[f"opus-mt fp32, {which}: memory"] for which in ("peer", "full attention"))
    assert f"transformers grew by {theirs['ours']:,.0f} MiB, RingMT by {ours['ours']:,.0f} over all words." in PAGE


def test_the_memory_of_imported_shapes_is_what_was_measured() -> None:
    rows = table("imported shape (MiB)", PAGE)
    for shape, *cells in rows:
        ours = f"{shape} int8, {kind(shape)}"
        names = [ours + LISTED, ours, f"{shape} int8, peer{LISTED}", f"{shape} int8, peer"]
        assert cells == [f"{measured('imported')[f'{name}: memory']['ours']:,.0f}" for name in names]
    assert rows


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("firefox-service", r"(\S+) and (\S+) sentences a second \((\S+) times\), with a p95 of (\S+) and (\S+) s"),
        ("firefox-service-zen5", r"json`\) (\S+) and (\S+) a second \((\S+) times\), with a p95 of (\S+) and (\S+) s"),
    ],
)
def test_the_service_of_a_firefox_shape_is_what_was_measured(file: str, sentence: str) -> None:
    throughput, latency, words = (
        measured(file)[f"64 clients: {what}"] for what in ("throughput", "p95 latency", "words of a translation")
    )
    found = re.search(sentence, PAGE)
    assert found is not None
    assert found.groups() == (
        *(f"{throughput[side]:,.0f}" for side in ("ours", "peer")), f"{throughput['ratio']:.2f}",
        *(f"{latency[side]:.2f}" for side in ("ours", "peer")),
    )  # fmt: skip
    assert abs(words["ratio"] - 1) < 0.05
