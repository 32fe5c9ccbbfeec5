"""The package for LibreTranslate holds our weights, and both servers get the same texts through its API.

LibreTranslate itself is no part of the tests' environment: a program with its names stands in for it.
"""

import sys
from pathlib import Path

import ctranslate2
import pytest
import sentencepiece

from export.commands import EXAMPLES, lines
from export.importers.argos.package import open_package
from loadtest.bench.libretranslate_peer import version_of, write_package
from loadtest.bench.load_bench import LoadPlan, load_rows
from model.config import EOS_ID
from model.reference_search import reference_search
from tests.models import lively_model, tiny_config, write_artifact

STAND_IN = """
import http.server, json, sys
import argostranslate.sbd

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply([])
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert body["source"] == "en" and body["target"] == "de" and body["format"] == "text", body
        with open({log!r}, "a") as log:
            log.write(json.dumps(body["q"]) + "\\n")
        sentences = argostranslate.sbd.MiniSBDSentencizer().split_sentences(body["q"])
        assert " ".join(sentences) == body["q"].strip(), sentences
        self.reply({{"translatedText": body["q"]}})
    def reply(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *_):
        pass

def main():
    port = int(sys.argv[sys.argv.index("--port") + 1])
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def test_a_package_has_the_weights_of_the_checkpoint(tmp_path: Path) -> None:
    model = lively_model(tiny_config(max_length=256, ngram=None))
    write_artifact(model, tmp_path)
    package = write_package(tmp_path / "tiny-checkpoint", tmp_path / "packages", "en", "de")
    read = open_package(package, tmp_path / "scratch")
    assert read.languages == ("en", "de")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(package / "sentencepiece.model"))
    translator = ctranslate2.Translator(str(read.model), compute_type="float32")
    for text in list(lines(EXAMPLES))[:4]:
        [result] = translator.translate_batch([pieces.encode(text, out_type=str)], beam_size=1, max_decoding_length=20)
        [expected] = reference_search(model, [*pieces.encode(text), EOS_ID], beam_size=1, max_length=20)
        assert tuple(map(pieces.piece_to_id, result.hypotheses[0])) == expected.ids


def test_both_servers_get_the_same_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact = write_artifact(lively_model(tiny_config(max_length=256)), tmp_path)
    site = tmp_path / "site"
    for package in ("libretranslate", "argostranslate"):
        (site / package).mkdir(parents=True)
        (site / package / "__init__.py").touch()
    (site / "argostranslate" / "sbd.py").write_text("class MiniSBDSentencizer: pass\n", encoding="utf-8")
    log = tmp_path / "log"
    (site / "libretranslate" / "main.py").write_text(STAND_IN.format(log=str(log)), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{site}:{Path.cwd()}")
    plan = LoadPlan(rates=(6,), seconds=1.0, rounds=1)
    python = Path(sys.executable)
    rows = load_rows(tmp_path / "tiny-checkpoint", artifact, ["A house.", "Is it?"], plan, python)
    results = {row.name: row for row in rows}
    assert results["6 requests/s: throughput"].ours > 0 < (results["6 requests/s: throughput"].peer or 0)
    assert not any("given up" in name for name in results)
    assert log.read_text(encoding="utf-8").count("\n") > 6


def test_an_environment_without_libretranslate_is_named() -> None:
    with pytest.raises(ValueError, match="has no libretranslate: make an environment with it"):
        version_of(Path(sys.executable))
