"""The bench: the peer computes the same thing, and a short run gives the promised table."""

import dataclasses
import json
from pathlib import Path
from typing import Any, cast

import pytest

from export.commands import EXAMPLES, lines
from loadtest.bench import measure, variants_bench
from loadtest.bench.ctranslate2_peer import CTranslate2Engine, token
from loadtest.bench.ctranslate2_writer import convert, write_vocabulary_map
from loadtest.bench.figure import LENGTHS, draw, read_rows, series
from loadtest.bench.http_bench import Turn, client_rows, http_rows, sentences
from loadtest.bench.lengths_bench import cache_bytes
from loadtest.bench.measure import CompetitorProcess, Workload, alternate
from loadtest.bench.overhead_bench import overhead_rows
from loadtest.bench.report import Row, find_regressions, markdown, number, write_json
from loadtest.bench.shapes import random_model, random_plan, shape
from loadtest.bench.sources import random_sources
from loadtest.bench.variants_bench import variant_rows, variants
from model.config import EOS_ID, AttentionConfig
from model.data.vocabulary import Vocabulary
from model.reference_search import reference_search
from server.cli import main as cli
from server.settings import BUNDLED_MODELS
from tests.models import lively_model, tiny_config, write_artifact


@pytest.fixture(autouse=True)
def _turns_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured is not looked at."""
    monkeypatch.setattr(measure, "TURN_SECONDS", 0.02)


OPUS_MT: dict[str, Any] = {"norm": "after", "activation": "swish", "output_bias": True}
"""How models of OPUS-MT differ from ours."""


@pytest.mark.parametrize("other", [{}, {"encoder_attention": AttentionConfig(relative=True)}, OPUS_MT])
@pytest.mark.parametrize("beam", [1, 4])
def test_ctranslate2_computes_the_same_with_the_same_weights(tmp_path: Path, beam: int, other: dict[str, Any]) -> None:
    model = random_model(dataclasses.replace(shape("tiny", None), **other))
    convert(model, tmp_path)
    peer = CTranslate2Engine(tmp_path, "fp32", workers=1, intra_threads=1)
    sources = random_sources(4, 9, model.config.vocab_size)
    for source, words in zip(sources, peer.translate(sources, beam, target_length=12), strict=True):
        expected = reference_search(model, list(source), beam_size=beam, max_length=12)[0]
        assert words == [token(index) for index in expected.ids]


def test_the_bench_of_a_device_runs_on_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--shape", "tiny", "--precision", "fp32", "--peer", "transformers", "--batch", "2", "--rounds", "1"]
    assert cli.main(["bench", "device", *flags, "--beam", "2"]) == 0
    assert "| tiny fp32 beam 2 batch 2 (peer: transformers) |" in capsys.readouterr().out


def test_random_models_never_end_a_sentence_by_themselves() -> None:
    model = random_model(shape("tiny", 8))
    for source in random_sources(3, 9, model.config.vocab_size):
        (best,) = reference_search(model, list(source), beam_size=2, max_length=15)
        assert (best.finish_reason, len(best.ids)) == ("length", 15)
        assert EOS_ID not in best.ids


@pytest.mark.parametrize(
    ("name", "order", "length", "kib"), [("small", 8, 400, 168), ("small", None, 25, 600), ("base", 8, 25, 672)]
)
def test_cache_bytes_are_the_formula(name: str, order: int | None, length: int, kib: int) -> None:
    assert cache_bytes(name, order, length) == kib * 1024


def test_a_short_run_beside_the_peer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bench.json"
    assert (
        cli.main(["bench", "engine", "--shape", "tiny", "--quick", "--peer", "ctranslate2", "--json", str(path)]) == 0
    )
    content = json.loads(path.read_text(encoding="utf-8"))
    assert {"cpu", "cores", "commit", "python"} <= set(content["environment"])
    rows = content["rows"]
    speeds, memory = rows[:3], rows[3:]
    labels = [", shortlist", ", shortlist (peer, shortlist)", ""]
    assert [row["name"].rpartition(", N=8")[2] for row in speeds] == labels
    names = [row["name"].removeprefix("tiny int8, ") for row in memory]
    assert names == [f"{label}: memory" for label in ("N=8, shortlist", "N=8", "peer", "peer, shortlist")]
    assert all(0 < row["ours"] < 1000 for row in memory)
    row = rows[0]
    assert set(row) == {"name", "ours", "peer", "ratio", "unit"}
    assert row["ratio"] == pytest.approx(row["ours"] / row["peer"])
    shown = capsys.readouterr().out
    assert "| ours | ctranslate2 | ours / ctranslate2 | unit |" in shown
    assert "CTranslate2 computes full attention" in shown


def test_tables_round_for_readers() -> None:
    assert [number(value) for value in (None, 1.234, 12345.6)] == ["-", "1.23", "12,346"]
    assert "| a | 1.00 | - | - | s |" in markdown([Row("a", 1.0, None, None, "s")], "peer")


def test_sentences_for_clients_are_mixed_and_all_different() -> None:
    vocabulary = Vocabulary(BUNDLED_MODELS / "en-de" / "vocabulary.model")
    texts = sentences(list(lines(EXAMPLES)), vocabulary, 120)
    lengths = [len(ids) for ids in vocabulary.encode(texts)]
    assert len(set(texts)) == 120
    assert min(lengths) < 10
    assert max(lengths) > 50


def test_both_servers_answer_the_same_clients(tmp_path: Path) -> None:
    artifact = write_artifact(lively_model(tiny_config(max_length=256)), tmp_path, graphs=(("onnx", "int8"),))
    throughput, latency = http_rows(
        tmp_path / "tiny-checkpoint", artifact, list(lines(EXAMPLES)), rounds=1, clients=[4], count=8
    )
    for row in (throughput, latency):
        assert row.peer is not None
        assert row.ours > 0 < row.peer


def test_only_ratios_that_fell_by_more_than_a_quarter_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_json(path, {}, [Row(name, 100, 50, 2.0, "tokens/s") for name in ("same", "fell")])
    now = [Row("same", 10, 6.5, 1.54, "tokens/s"), Row("fell", 200, 140, 1.43, "tokens/s"), Row("new", 1, 9, 0.1, "x")]
    assert find_regressions(now, path) == ["fell: ratio 1.43, was 2.00"]


def test_the_baseline_has_the_rows_of_the_quick_run() -> None:
    rows = json.loads((Path(__file__).parents[3] / "loadtest/bench/baseline.json").read_text(encoding="utf-8"))["rows"]
    name = "small int8 beam 4 batch 8, N=8"
    assert [row["name"] for row in rows] == [f"{name}, shortlist", f"{name}, shortlist (peer, shortlist)", name]


@pytest.mark.parametrize("other", [{}, OPUS_MT])
@pytest.mark.parametrize("beam", [1, 3])
def test_transformers_computes_the_same_with_the_same_weights(beam: int, other: dict[str, Any]) -> None:
    pytest.importorskip("transformers", reason="a peer that is only installed to be compared with")
    from loadtest.bench.transformers_peer import TransformersEngine

    model = random_model(dataclasses.replace(shape("tiny", None), **other))
    peer = TransformersEngine(model, threads=1)
    sources = random_sources(3, 9, model.config.vocab_size)
    for source, ids in zip(sources, peer.translate(sources, beam, target_length=12), strict=True):
        expected = reference_search(model, list(source), beam_size=beam, max_length=12)[0]
        assert ids == list(expected.ids)


def test_a_vocabulary_map_holds_the_plans_words(tmp_path: Path) -> None:
    plan = random_plan(384)
    write_vocabulary_map(plan, tmp_path)
    lines = (tmp_path / "vmap.txt").read_text(encoding="utf-8").splitlines()
    always, *others = [line.split("\t") for line in lines]
    assert (always[0], len(always[1].split())) == ("", 64)
    assert [source for source, _ in others] == [token(index) for index in range(4, 384)]
    assert others[5][1].split() == [token(word) for word in plan.lists.row(9)]


def test_a_peer_with_the_map_translates_within_it(tmp_path: Path) -> None:
    model = random_model(shape("tiny", None))
    plan = random_plan(model.config.vocab_size)
    convert(model, tmp_path)
    write_vocabulary_map(plan, tmp_path)
    peer = CTranslate2Engine(tmp_path, "fp32", workers=1, intra_threads=1, vmap=True)
    (source,) = random_sources(1, 9, model.config.vocab_size)
    allowed = {int(word) for word in plan.frequent}
    allowed |= {word for index in source for word in plan.lists.row(index)}
    (words,) = peer.translate([source], 2, target_length=12)
    assert {int(word[1:]) for word in words if word.startswith("w")} <= allowed


def test_variants_are_timed_beside_plain_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants_bench, "variants", lambda base: dict(list(variants(base).items())[:2]))
    plain, other = variant_rows("tiny", 1)
    assert (plain.name, plain.ratio) == ("tiny int8 beam 4 batch 32, plain, N=8", 1.0)
    assert other.ratio == pytest.approx(other.ours / plain.ours)
    kinds = {config.variant for config in variants(shape("small", None)).values()}
    assert len(kinds) == 11


def test_the_figure_is_drawn_from_files(tmp_path: Path) -> None:
    rows = [Row(f"{n} clients: {what}", 2.0, 1.0, 2.0, "x") for n in (1, 64) for what in ("throughput", "p95 latency")]
    rows += [Row(f"small int8 length {n}, N=8: step", 1.0, n, 1 / n, "us") for n in (25, 400)]
    write_json(tmp_path / "rows.json", {}, rows)
    picture = tmp_path / "speed.png"
    arguments = ["bench", "figure", "--from", str(tmp_path / "rows.json"), "--picture", str(picture)]
    assert cli.main(arguments) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    points = series(read_rows([tmp_path / "rows.json"]), LENGTHS, "N=8")
    assert points == [(25.0, 1.0, 25), (400.0, 1.0, 400)]
    write_json(tmp_path / "rows.json", {}, [])
    with pytest.raises(ValueError, match="nothing to draw"):
        draw(read_rows([tmp_path / "rows.json"]), picture)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["http"], "needs --checkpoint and --artifact"),
        (["figure"], "needs --from FILES and --picture FILE"),
        (["engine", "--peer", "transformers"], "add --precision fp32"),
        (["lengths", "--peer", "transformers"], "knows one peer: ctranslate2"),
        (["engine", "--batch", "1,x"], "written like 1,8,32, not '1,x'"),
        (["limit", "--beam", "1,4"], "one number is needed here, not '1,4'"),
        (["engine", "--peer", "fxtranslate"], "fxtranslate is the peer of the shapes firefox-"),
        (["engine", "--shape", "firefox-small", "--peer", "ctranslate2"], "fxtranslate is the peer of the shapes"),
        (["http", "--peer", "fxtranslate"], "fxtranslate is the peer of the shapes firefox-..., not of 'small'"),
    ],
)
def test_invalid_options_are_reported(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_documents_are_timed_with_context_and_without(
    document_artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, path = tmp_path / "text", tmp_path / "rows.json"
    text.write_text("\n".join(EXAMPLES.read_text(encoding="utf-8").splitlines()[:20]), encoding="utf-8")
    arguments = ["bench", "documents", "--artifact", str(document_artifact), "--text", str(text), "--rounds", "1"]
    assert cli.main([*arguments, "--sizes", "3,9", "--json", str(path)]) == 0
    rows = {row["name"]: row for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}
    for size in (3, 9):
        for what in ("offline", "online, one appended", "a look: used words or all"):
            row = rows[f"{size} sentences, {what}"]
            assert row["ours"] > 0 < row["peer"]
            assert row["ratio"] == pytest.approx(row["ours"] / row["peer"])
        assert 1 <= rows[f"{size} sentences, used by a sentence"]["ours"] <= size - 1
    (kept,) = (row for name, row in rows.items() if name.startswith("kept of a sentence"))
    assert kept["ratio"] == pytest.approx(1)
    assert "the same service, sentences and weights without" in capsys.readouterr().out
    assert cli.main([*arguments, "--sizes", "100"]) == 1
    assert "108 sentences are needed, there are 20" in capsys.readouterr().err


def test_documents_need_a_model_with_context(tiny_artifact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "documents", "--artifact", str(tiny_artifact), "--sizes", "3"]) == 1
    assert "has no context on the encoder's side" in capsys.readouterr().err


def test_time_of_python_is_separated_from_time_of_graphs() -> None:
    rows = overhead_rows("tiny", "fp32", 2, (1, 4), 9)
    assert [row.unit for row in rows] == ["us", "%", "%"] * 2
    for per_step, of_step, of_all in (rows[:3], rows[3:]):
        assert per_step.ours > 0
        assert 0 < of_step.ours < 100
        assert 0 < of_all.ours < 100  # with admission, and with the encoder's graph: above the share of a step or below


class Scripted:
    """A competitor whose calls take the seconds that are written down."""

    def __init__(self, name: str, seconds: list[float], calls: list[str]) -> None:
        self.name, self.left, self.calls = name, iter(seconds), calls

    def seconds(self, workload: Workload, of_processor: bool = False) -> float:
        self.calls.append(self.name)
        return next(self.left)


def test_competitors_take_turns_and_the_first_round_does_not_count() -> None:
    calls: list[str] = []
    first, second = Scripted("a", [9.0, 1.0, 2.0], calls), Scripted("b", [9.0, 4.0, 8.0], calls)
    speeds = alternate(
        [cast(CompetitorProcess, first), cast(CompetitorProcess, second)], Workload(2, target_length=8), 2
    )
    assert speeds == [[16, 8], [4, 2]]  # 16 tokens a call
    assert calls == ["a", "b"] * 3


def test_clients_over_http_take_turns_and_the_first_round_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([(999.0, 9.0), (999.0, 9.0), (10.0, 0.1), (5.0, 0.4), (30.0, 0.3), (7.0, 0.2), (20.0, 0.2), (6.0, 0.3)])
    calls: list[str] = []

    async def turned(base: str, *more: object) -> Turn:
        calls.append(base)
        return Turn(*next(left))

    monkeypatch.setattr("loadtest.bench.http_bench.turn", turned)
    vocabulary = Vocabulary(BUNDLED_MODELS / "en-de" / "vocabulary.model")
    throughput, latency = client_rows(["ours", "peer"], ["Yes."], vocabulary, rounds=3, clients=4)
    assert calls == ["ours", "peer"] * 4
    assert (throughput.ours, throughput.peer, throughput.ratio) == (20.0, 6.0, 20 / 6)
    assert (latency.ours, latency.peer) == (0.2, 0.3)
    assert (throughput.name, latency.name) == ("4 clients: throughput", "4 clients: p95 latency")
