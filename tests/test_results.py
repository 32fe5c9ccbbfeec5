"""The figures of README.md and server/RESULTS.md are those of the measurements in loadtest/bench/results."""

import csv
import json
import re
import statistics
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = (ROOT / "server/RESULTS.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COLUMNS = ("N=8, shortlist", "N=8, shortlist (peer, shortlist)", "N=8", "full attention")
"""The four ratios of a row of the speed table, by the names of the measurement."""
SIDES = ("ours", "peer")


@cache
def measured(file: str) -> dict[str, dict[str, float]]:
    rows = json.loads((ROOT / f"loadtest/bench/results/{file}.json").read_text(encoding="utf-8"))["rows"]
    return {row["name"]: row for row in rows}


def table(first_cell: str, page: str = RESULTS) -> list[list[str]]:
    """The rows of the page's table whose head begins with this cell."""
    lines = page.split(f"| {first_cell} |")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_results_are_short() -> None:
    assert len(RESULTS.splitlines()) <= 150


def check_speed(rows: list[list[str]], suffix: str) -> None:
    for case, ours, peer, *ratios in rows:
        result = re.fullmatch(r"(small|base), beam (\d), (\d+) sentences?", case)
        assert result is not None
        shape, beam, batch = result.groups()
        file = measured(("base" if shape == "base" else "beam1" if beam == "1" else "small") + suffix)
        figures = [file[f"{shape} int8 beam {beam} batch {batch}, {column}"] for column in COLUMNS]
        assert [ours, peer] == [f"{figures[0][side]:,.0f}" for side in SIDES]
        assert ratios == [f"{figure['ratio']:.2f}" for figure in figures]


def test_speed_is_what_was_measured() -> None:
    rows = table("tokens/s")
    check_speed(rows[:-1], "")
    assert len(rows) == 9


def test_the_speed_of_each_kind_of_attention_is_what_was_measured() -> None:
    rows = table("attention")
    for name, speed, ratio in rows:
        kind = name.removeprefix("differentiable windows ")
        figures = measured("variants")[f"small int8 beam 4 batch 32, {kind}"]
        assert [speed, ratio] == [f"{figures['ours']:,.0f}", f"{figures['ratio']:.2f}"]
    assert len(rows) == len(measured("variants"))


def test_speed_without_avx512_is_what_was_measured() -> None:
    rows = table("tokens/s", (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8"))
    check_speed(rows, "-avx2")
    assert len(rows) == 5


def test_speed_on_a_xeon_is_what_was_measured() -> None:
    rows = table("tokens/s, Intel Xeon", (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8"))
    check_speed(rows, "-xeon")
    assert len(rows) == 8


def test_speed_on_a_gpu_is_what_was_measured() -> None:
    page = (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8")
    rows = table("shape, precision, beam, sentences (tokens/s)", page)
    for case, ours, gain, peer, ratio, mebibytes in rows:
        shape, precision, beam, batch = case.split(", ")
        name = f"{shape} {precision} {beam} batch {batch}"
        figures, file = measured("device")[f"{name} (peer: transformers)"], measured("device")
        assert [ours, peer] == [f"{figures[side]:,.0f}" for side in SIDES]
        assert ratio == f"{figures['ratio']:.2f}"
        assert gain == f"{file[f'{name} (peer: steps not recorded)']['ratio']:.1f}"
        assert mebibytes == f"{file[f'{name}, memory of the device at most']['ours']:,.0f}"
    assert len(rows) > 20


def test_the_distance_from_the_limit_is_what_was_measured() -> None:
    page = (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8")
    rows = table("shape, precision, beam, sentences, part (us)", page)
    file = measured("limit")
    for case, ours, alone, share, *parts in rows:
        name = case.replace(" sentence,", " sentences,")
        assert [ours, alone] == [f"{file[name][side]:,.0f}" for side in SIDES]
        assert share == f"{100 * file[name]['peer'] / file[name]['ours']:.0f}%"
        groups = ("attention", "copies", "quantization", "choice of words", "other")
        assert parts == [
            f"{file[f'{name}: {group}']['ours']:,.0f}" if f"{name}: {group}" in file else "0" for group in groups
        ]
    reading = [f"{file[f'{case} beam 4, 1 sentences, step: reading the weights of products once']['ours']:,.0f}"
               for case in ("small int8", "small fp32", "base int8", "opus int8")]  # fmt: skip
    assert 'take {} us for "small" at int8, {} at fp32, {} for\n"base" and {} for "opus"'.format(*reading) in page
    assert f"One thread read {file['memory that one thread reads']['ours']:.1f} GB/s" in page
    assert len(rows) == 19


def test_throughput_over_http_is_what_was_measured() -> None:
    figures = measured("http")["64 clients: throughput"]
    ours, peer, ratio = f"{figures['ours']:,.0f}", f"{figures['peer']:,.0f}", f"{figures['ratio']:.2f}"
    assert table("tokens/s")[-1][1:4] == [ours, peer, ratio]


def test_load_beside_libretranslate_is_what_was_measured() -> None:
    page = (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8")
    files = {"mixed text": "load-libretranslate", "everyday sentences": "load-libretranslate-short"}
    rows = table("p95, s", page)
    for case, ours, peer in rows:
        text, rate = case.split(", ")
        figures = measured(files[text])[f"{rate}: p95"]
        assert [ours, peer] == [f"{figures[side]:.3f}" for side in SIDES]
    assert len(rows) == 13
    answered = measured("load-libretranslate")["40 requests/s: throughput"]
    assert f"LibreTranslate answers {answered['peer']:.1f} of {answered['ours']:.1f} requests/s at 40" in page
    rates = (5, 10, 20, 30, 60, 90, 120)
    ratios = [measured(files["everyday sentences"])[f"{rate} requests/s: p95"]["ratio"] for rate in rates]
    assert "ours is {:.2f}, {:.2f}, {:.2f}, {:.2f}, {:.2f}, {:.2f} and {:.2f} times".format(*ratios) in page
    assert 1.025 <= min(ratios[3:6]) <= max(ratios[3:6]) <= 1.2, "as README says"
    assert f"{ratios[-1]:.1f}" == "0.5", "as README says"
    first = measured("load-libretranslate")["30 requests/s: p95"]
    assert f"| {first['ours']:.2f} s | {first['peer']:.2f} s (LibreTranslate 1.9.6) |" in README


def test_load_on_a_xeon_is_what_was_measured() -> None:
    page = (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8")
    files = {"mixed text": "load-libretranslate-xeon", "everyday sentences": "load-libretranslate-short-xeon"}
    rows = table("p95, s, Intel Xeon", page)
    for case, ours, peer in rows:
        text, rate = case.split(", ")
        figures = measured(files[text])[f"{rate}: p95"]
        assert [ours, peer] == [f"{figures[side]:.3f}" for side in SIDES]
    assert len(rows) == 10
    mixed, everyday = (measured(file) for file in files.values())
    highest = mixed["highest rate with p95 below 0.5 s"]
    rates_kept = "at up to {ours:.0f} requests/s, LibreTranslate at up to {peer:.0f};".format(**highest)
    assert f"RingMT keeps p95 below 0.5 s {rates_kept}" in page
    answered = mixed["30 requests/s: throughput"]
    assert f"RingMT answers {answered['ours']:.1f} requests/s and LibreTranslate\n{answered['peer']:.1f}." in page
    rates = (5, 10, 20, 30, 60)
    slow, middle = ([everyday[f"{rate} requests/s: {kind}"]["ratio"] for rate in rates] for kind in ("p95", "p50"))
    assert "RingMT's p95 is {:.2f}, {:.2f}, {:.2f}, {:.2f} and {:.2f} times LibreTranslate's".format(*slow) in page
    assert "p50 {:.2f}, {:.2f}, {:.2f}, {:.2f} and {:.2f} times".format(*middle) in page
    assert f"{max(slow):.1f}" == "1.3", "as README says"
    first = mixed["15 requests/s: p95"]
    assert f"mixed text at 15 has {first['ours']:.2f} and {first['peer']:.2f} s" in README


def test_engines_without_http_are_what_was_measured() -> None:
    rows = table("requests/s, without HTTP", (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8"))
    for rate, *cells in rows:
        kinds = [
            measured("arrivals")[f"{rate} requests/s: {kind}"] for kind in ("p50", "p95", "processor time of a request")
        ]
        assert cells == [f"{kind[side]:.1f}" for kind in kinds for side in SIDES]
        assert kinds[2]["ours"] < kinds[2]["peer"], "as the page says"
        assert (kinds[1]["ours"] < kinds[1]["peer"]) == (int(rate) <= 60), "as the page says"
    assert len(rows) == 4


def test_short_sentences_over_http_are_what_was_measured() -> None:
    page = (ROOT / "loadtest/bench/results/README.md").read_text(encoding="utf-8")
    rows = table("requests/s, beside CTranslate2 behind FastAPI", page)
    for rate, *cells in rows:
        middle, slow = (measured("load-short")[f"{rate} requests/s: {kind}"] for kind in ("p50", "p95"))
        assert cells == [f"{1000 * kind[side]:.0f}" for kind in (middle, slow) for side in SIDES]
        assert middle["ours"] < middle["peer"], "as the page says"
        assert (slow["ours"] < slow["peer"]) == (int(rate) <= 30), "as the page says"
    assert len(rows) == 3


def test_load_is_what_was_measured() -> None:
    rows = table("requests/s offered")
    for rate, *cells in rows:
        figures = [
            measured("load")[f"{rate} requests/s: {name}"][side]
            for name in ("throughput", "p50", "p95", "p99")
            for side in ("ours", "peer")
        ]
        assert [cell.removesuffix(" s") for cell in cells] == [
            f"{figure:.{len(cell.removesuffix(' s').partition('.')[2])}f}"
            for cell, figure in zip(cells, figures, strict=True)
        ]
    assert len(rows) == 5
    best = measured("load")["highest rate with p95 below 0.5 s"]
    assert f"at up to {best['ours']:.0f} requests/s, CTranslate2 at up to {best['peer']:.0f}." in RESULTS
    short = [
        (f"{1000 * figures['ours']:.0f}", f"{1000 * figures['peer']:.0f}")
        for figures in (measured("load-short")[f"{rate} requests/s: p95"] for rate in (30, 60, 90))
    ]
    assert re.findall(r"(\d\d) and (\d\d)(?: ms)? at (?:30|60|90)", " ".join(RESULTS.split())) == short


def test_memory_is_what_was_measured() -> None:
    rows = table("target tokens")
    for length, *cells in rows:
        name = f"small int8 length {length},"
        sizes = [
            measured("lengths")[f"{name} {kind}: cache per sentence"]["ours"] for kind in ("N=8", "full attention")
        ]
        step = measured("lengths")[f"{name} N=8: step"]
        shown = [f"{size / 1024:,.0f} KiB" for size in sizes] + [f"{step[side] / 1000:.2f} ms" for side in SIDES]
        assert cells == shown
    assert len(rows) == 3
    (of_100,) = [cells for length, *cells in rows if length == "100"]
    assert f"| {of_100[0]}, at any length | {of_100[1]} (full attention) |" in README


def test_the_cost_of_context_is_what_was_measured() -> None:
    rows = table("processor time of a sentence beside a sentence without context")
    for cells, name in zip(rows, ("offline", "online, one appended"), strict=True):
        figures = [measured("documents")[f"{size} sentences, {name}"]["ratio"] for size in (10, 100, 1000)]
        assert cells[1:] == [f"{figure:.2f}" for figure in figures]


def test_the_readme_has_the_figures_of_the_results() -> None:
    """Of what no file of measurements has: quality, and what context brings."""
    bleu = {cells[0].split()[0]: (cells[1], cells[4]) for cells in table("test set")}
    assert f"{bleu['Tatoeba'][0]} BLEU on everyday sentences (Tatoeba)" in README
    assert f"{bleu['newstest2016'][0]} on news (newstest2016)" in README
    assert f"German-English {bleu['Tatoeba'][1]} and {bleu['newstest2016'][1]}." in README
    (items,) = [cells for cells in table("set") if "gender_step/big" in cells[0]]
    assert f"| {items[3].split()[0]}% of {items[1]} | {items[2]}% (without context) |" in README


def final_nats() -> dict[str, float]:
    """Nats per token at the end of the training of each decoder with and without a window, the mean of its dev sets."""
    results = {}
    for path in (ROOT / "model/zoo/twin").rglob("*.csv"):
        for line in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
            nats = statistics.mean(float(value) for name, value in line.items() if name.startswith("nll dev/"))
            results[line.get("row", path.parent.name)] = nats
    return results


def test_the_window_costs_nothing_in_any_seed() -> None:
    """What the README says of the window. BLEU stands on the zoo's page alone: no record has it."""
    nats = final_nats()
    differences = [nats[f"n8{seed}"] - nats[f"full{seed}"] for seed in ("", "-seed-2", "-seed-3")]
    assert len(nats) == 6
    assert max(differences) < 0
    assert "the window costs no quality that three seeds can show" in README
