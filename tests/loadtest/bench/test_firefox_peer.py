"""Random models in Firefox's files are what they were drawn as, and translations end where fxtranslate's do."""

import json
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from export.importers.marian_nmt.container import read_model
from export.importers.marian_nmt.shortlist import read_shortlist
from loadtest.bench import measure
from loadtest.bench.engine_bench import EnginePlan, ours_of, peers_of
from loadtest.bench.firefox_files import FREQUENT, LISTED, first_made_up, made_up, weights, write_firefox
from loadtest.bench.firefox_http_bench import firefox_http_rows
from loadtest.bench.fxtranslate_peer import FxTranslateEngine, target_length
from loadtest.bench.measure import written_models
from loadtest.bench.shapes import shape
from loadtest.bench.sources import Words
from server.cli import main as cli

CONFIG = shape("firefox-small", None)
WORDS = CONFIG.vocab_size - 1
PLAN = EnginePlan("firefox-small", "int8", (1,), (2,), 1, "fxtranslate")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("firefox")
    write_firefox(CONFIG, folder)
    return folder


def test_the_file_holds_the_weights_to_half_a_level(files: Path) -> None:
    drawn = dict(weights(CONFIG, WORDS, first_made_up(files / "vocab.ende.spm")))
    read = read_model(files / "model.ende.intgemm.alphas.bin").weights
    assert {name for name in read if not name.endswith("_QuantMultA")} == set(drawn)
    for name, values in drawn.items():
        half = 0 if len(values) == 1 else np.abs(values).max() / 127 / 2 * 1.001
        assert np.abs(read[name] - values).max() <= half
    matrices = {f"{name}_QuantMultA" for name, values in drawn.items() if len(values) > 1}
    assert {name for name in read if name.endswith("_QuantMultA")} == {*matrices, "none_QuantMultA"}


def test_every_word_lists_some_words(files: Path) -> None:
    lists = read_shortlist(files / "lex.50.50.ende.s2t.bin", WORDS, WORDS)
    assert len(lists) == WORDS
    assert all(1 <= len(words) <= LISTED + 1 for words in lists)
    assert FREQUENT < WORDS


def test_made_up_words_are_one_piece_each(files: Path) -> None:
    vocabulary = files / "vocab.ende.spm"
    pieces, first = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary)), first_made_up(vocabulary)
    assert (len(pieces), pieces.eos_id(), pieces.unk_id()) == (WORDS, CONFIG.eos_id, CONFIG.unk_id)
    assert pieces.id_to_piece(first) == made_up(first)
    assert pieces.id_to_piece(first - 1) != made_up(first - 1)
    for source in Words(first, WORDS, CONFIG.eos_id).sources(3, 9):
        assert pieces.encode(pieces.decode(list(source[:-1]))) == list(source[:-1])


def test_translations_end_at_the_limit_of_fxtranslate(files: Path) -> None:
    pytest.importorskip("fxtranslate", reason="a peer that is only installed to be compared with")
    vocabulary = files / "vocab.ende.spm"
    engine = FxTranslateEngine(files, workers=1, shortlist=True)
    words = Words(first_made_up(vocabulary), WORDS, CONFIG.eos_id)
    for length in (3, 9):
        for text in engine.translate(words.sources(3, length), 1, target_length(length)):
            assert len(text.split()) == target_length(length)
    with pytest.raises(ValueError, match="by beam 1, not 4"):
        engine.translate(words.sources(1, 3), 4, 10)
    assert engine.worker_bytes() > 0
    engine.close()


def test_a_short_run_beside_fxtranslate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fxtranslate", reason="a peer that is only installed to be compared with")
    monkeypatch.setattr(measure, "TURN_SECONDS", 0.02)
    path, models = tmp_path / "bench.json", tmp_path / "models"
    run = ["bench", "engine", "--shape", "firefox-small", "--peer", "fxtranslate", "--beam", "1", "--batch", "2"]
    assert cli.main([*run, "--rounds", "1", "--random-models", str(models), "--json", str(path)]) == 0
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    names = [row["name"].removeprefix("firefox-small int8 beam 1 batch 2, ") for row in rows if row["ratio"]]
    assert names == ["no ring, shortlist", "no ring, shortlist (peer, shortlist)", "no ring"]
    assert [row["ours"] > 0 for row in rows if row["unit"] == "MiB"] == [True] * 4
    assert "fxtranslate computes a sentence at a time" in capsys.readouterr().out
    options = [*ours_of(PLAN).values(), *peers_of(PLAN).values()]
    monkeypatch.setattr("loadtest.bench.measure.module_command", None)
    assert len(written_models(options, models)) == 2  # found again, and not written


def test_both_servers_answer_with_texts_of_the_same_length() -> None:
    pytest.importorskip("fxtranslate", reason="a peer that is only installed to be compared with")
    throughput, latency, words = firefox_http_rows("firefox-small", ["The house is old.", "We drink milk."], 1, [4], 8)
    assert (throughput.unit, latency.unit) == ("sentences/s", "s")
    for row in (throughput, latency):
        assert row.ours > 0 < (row.peer or 0)
    assert words.ratio == pytest.approx(1, abs=0.05)  # numbers may be kept as they are
