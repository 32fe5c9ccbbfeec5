"""MarianMT checkpoints become artifacts that translate as `transformers` does: the same tokens, the same scores."""

import argparse
import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import MarianTokenizer

from export.import_command import import_command
from export.importers import ImportRefused
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from server.engine.self_test import SelfTestResult, run_self_test
from server.engine.synchronous import Source, translate_now
from server.text.protect.capitals import with_initial_of
from server.translation.loaded_model import open_vocabularies
from tests.marian import ENGLISH, EOS, UNK, Shape, write_marian
from tests.server.processes import serving

BEAM = 4
SHAPES = {
    "shared embeddings, swish": Shape(),
    "separate embeddings, relu, pickled": Shape(shared=False, activation="relu", pickled=True, eos_bonus=2.0, layers=1),
    "two vocabularies, gelu, no forced end": Shape(
        shared=False, separate=True, activation="gelu", forced_eos=False, eos_bonus=3.0, layers=1
    ),
    "several languages, unscaled": Shape(languages=("deu", "fra"), scaled=False, layers=1),
}
ODD = ("Xylophone 42 \u00fc\u4e2d!", "  two   spaces ", "waterwater bread")


def run_import(folder: Path, out: Path, *options: str) -> Artifact:
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    assert import_command.run(parser.parse_args(["marian", str(folder), "--out", str(out), *options])) == 0
    return Artifact.load(out)


@dataclass(frozen=True)
class Imported:
    shape: Shape
    model: Any
    folder: Path
    artifact: Artifact


@pytest.fixture(scope="module", params=SHAPES)
def imported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    shape, folder = SHAPES[request.param], tmp_path_factory.mktemp("marian")
    model = write_marian(folder / "checkpoint", shape)
    options = ["--language-token", "deu"] if shape.languages else []
    artifact = run_import(folder / "checkpoint", folder / "en-de", *options)
    return Imported(shape, model, folder / "checkpoint", artifact)


def tokenizer_of(imported: Imported) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends a package that it does not use
        return MarianTokenizer.from_pretrained(imported.folder)


def their_ids(imported: Imported, sentence: str) -> list[int]:
    prefix = ">>deu<<" if imported.shape.languages else ""
    return list(tokenizer_of(imported)(prefix + sentence)["input_ids"])


def test_text_has_the_ids_of_vocab_json(imported: Imported) -> None:
    source, target = open_vocabularies(imported.artifact)
    tokenizer = tokenizer_of(imported)
    for sentence in (*ENGLISH, *ODD):
        ours = [list(ids) for pieces in (source, target) for ids in pieces.encode([sentence])]
        theirs = tokenizer(text_target=sentence)["input_ids"]
        assert ours == [their_ids(imported, sentence), theirs]
        assert (
            target.decode([ours[1][:-1]])
            == [tokenizer.decode([their for their in theirs if their != UNK], skip_special_tokens=True)]
            or UNK in theirs
        )
    assert any(UNK in their_ids(imported, sentence) for sentence in ODD)
    for pieces in (source, target):  # special pieces in text are text
        [ids] = pieces.encode(["</s> <pad>"])
        assert (ids.count(EOS), ids[-1]) == (1, EOS)


Comparison = list[tuple[list[int], float]]
"""Tokens without EOS and normalised scores, best first."""


@torch.no_grad()
def their_search(model: Any, ids: list[int], max_length: int, penalty: float) -> Comparison:
    """By the settings under which both define the same search."""
    result = model.generate(
        torch.tensor([ids]), attention_mask=torch.ones(1, len(ids), dtype=torch.long), num_beams=BEAM,
        num_return_sequences=BEAM, early_stopping=True, length_penalty=penalty, max_length=max_length + 1,
        renormalize_logits=True, suppress_tokens=[UNK], return_dict_in_generate=True, output_scores=True,
    )  # fmt: skip
    rows = [row[1:].tolist() for row in result.sequences]
    cut = [row[: row.index(EOS)] if EOS in row else row for row in rows]
    return list(zip(cut, result.sequences_scores.tolist(), strict=True))


@pytest.mark.parametrize(("max_length", "penalty"), [(12, 1.0), (3, 0.6)])
def test_searches_are_those_of_transformers_alone_and_in_company(
    imported: Imported, max_length: int, penalty: float
) -> None:
    sources = [Source(tuple(their_ids(imported, sentence))) for sentence in (*ENGLISH[:3], *ODD[:1])]
    backend = load_backend(imported.artifact, "onnx", "fp32")
    options = SearchOptions(BEAM, BEAM, penalty, max_length)
    together = translate_now(backend, sources, options)
    lengths = set()
    for source, result in zip(sources, together, strict=True):
        [alone] = translate_now(backend, [source], options)
        expected = their_search(imported.model, list(source.ids), max_length, penalty)
        assert [hypothesis.ids for hypothesis in alone.hypotheses] == [
            hypothesis.ids for hypothesis in result.hypotheses
        ]
        if max(len(ids) for ids, _ in expected) == max_length and not imported.shape.forced_eos:
            continue  # transformers lets beams that are cut push out what has ended
        for ours in (alone.hypotheses, result.hypotheses):
            assert [list(our.ids) for our in ours] == [ids for ids, _ in expected]
            scores = [score for _, score in expected]
            assert [our.normalized_score for our in ours] == pytest.approx(scores, abs=1e-4)
        lengths |= {len(hypothesis.ids) for hypothesis in result.hypotheses}
    actual = [hypothesis for result in together for hypothesis in result.hypotheses]
    assert len({hypothesis.ids for hypothesis in actual}) >= BEAM
    if imported.shape == Shape() and max_length == 12:
        assert len(lengths) > 2
        assert {item.finish_reason for item in actual} == {"eos", "length"}


def test_int8_is_close_and_repeats_its_goldens(imported: Imported) -> None:
    backend = load_backend(imported.artifact, "onnx", "int8")
    assert run_self_test(imported.artifact, backend, "onnx", "int8") == SelfTestResult(len(ENGLISH), len(ENGLISH))
    manifest = imported.artifact.manifest
    assert (manifest.order, manifest.precisions, manifest.forced_eos) == (
        None, ("int8", "fp32"), imported.shape.forced_eos,
    )  # fmt: skip
    assert manifest.special_ids.bos == manifest.special_ids.pad == manifest.vocabulary_size - 1


def test_all_targets_of_a_model_are_one_artifact(tmp_path: Path) -> None:
    """Sentences into each of them share a batch, and `>>deu<<` is found from `de`."""
    shape = Shape(languages=("deu", "fra", "cmn_Hant"), layers=1)
    model = write_marian(tmp_path / "opus", shape)
    artifact = run_import(tmp_path / "opus", tmp_path / "out", "--graphs", "onnx-fp32", "--languages", "en,fr,deu")
    manifest = artifact.manifest
    assert (manifest.name, manifest.source_language, manifest.target_language) == ("out", "en", "mul")
    assert manifest.languages is not None
    assert (manifest.sources, manifest.targets, manifest.start_length) == (("en",), ("fr", "de"), 0)
    imported, (pieces, _) = Imported(shape, model, tmp_path / "opus", artifact), open_vocabularies(artifact)
    asked = [(sentence, target) for sentence in ENGLISH[:3] for target in ("de", "fr")]
    sources = [
        Source(pieces.in_language("en", manifest.languages.prefix("en", target)).encode([sentence])[0])
        for sentence, target in asked
    ]
    backend = load_backend(artifact, "onnx", "fp32")
    results = translate_now(backend, sources, SearchOptions(BEAM, BEAM, 1.0, 12))
    for (sentence, target), source, result in zip(asked, sources, results, strict=True):
        token = {"de": ">>deu<<", "fr": ">>fra<<"}[target]
        assert list(source.ids) == tokenizer_of(imported)(token + sentence)["input_ids"]
        assert [list(each.ids) for each in result.hypotheses] == [
            ids for ids, _ in their_search(model, list(source.ids), 12, 1.0)
        ]
    every = run_import(tmp_path / "opus", tmp_path / "every", "--graphs", "onnx-fp32").manifest
    assert set(every.targets) == {"de", "fr", "zh-Hant"}
    only = run_import(tmp_path / "opus", tmp_path / "only", "--graphs", "onnx-fp32", "--target", "de").manifest
    assert (only.name, only.languages, only.source_prefix) == ("en-de", None, sources[0].ids[:1])


def test_it_is_served_over_http(tmp_path: Path) -> None:
    shape = Shape(languages=("fra", "deu"), layers=1)
    model = write_marian(tmp_path / "opus", shape)
    artifact = run_import(tmp_path / "opus", tmp_path / "out", "--language-token", "deu")
    imported, sentence = Imported(shape, model, tmp_path / "opus", artifact), ENGLISH[0]
    ids, _ = their_search(model, their_ids(imported, sentence), 12, 1.0)[0]
    with serving(artifact.folder, "--precision", "fp32") as served:
        answer = served.translate(sentence, max_length=12)
        assert answer.status_code == 200
        expected = with_initial_of(sentence, tokenizer_of(imported).decode(ids, skip_special_tokens=True))
        assert answer.json()["translations"][0]["text"] == expected
        with served.client() as client:
            assert [entry["name"] for entry in client.get("/v1/models").json()["models"]] == ["en-de"]


def test_an_order_makes_the_ring_small(tmp_path: Path) -> None:
    write_marian(tmp_path / "opus", Shape(layers=1))
    manifest = run_import(tmp_path / "opus", tmp_path / "out", "--ngram", "4", "--graphs", "onnx-fp32").manifest
    assert (manifest.order, manifest.ring_capacity, manifest.name) == (4, 3, "en-de")


def changed(name: str, **values: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def learned_positions(folder: Path) -> None:
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    weights["model.encoder.embed_positions.weight"] = torch.randn(64, 32)
    torch.save(weights, folder / "pytorch_model.bin")


def another_weight(folder: Path) -> None:
    weights = torch.load(folder / "pytorch_model.bin", weights_only=True)
    torch.save(weights | {"model.decoder.layer_norm.weight": torch.ones(32)}, folder / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "pytorch_model.bin").unlink(), "has neither model.safetensors nor pytorch_model.bin"),
        (lambda folder: (folder / "vocab.json").unlink(), "vocab.json is missing: download the whole checkpoint"),
        (lambda folder: (folder / "source.spm").write_bytes(b"x"), "source.spm is not a"),
        (changed("config.json", model_type="bart"), "is of a 'bart' model"),
        (changed("config.json", normalize_before=True), "normalize_before .* is not what MarianMT computes"),
        (changed("config.json", decoder_ffn_dim=128), "encoder_ffn_dim and decoder_ffn_dim differ"),
        (changed("config.json", activation_function="tanh"), "activation_function 'tanh' is none of swish"),
        (
            changed("config.json", encoder_ffn_dim=32, decoder_ffn_dim=32),
            "the weights and config.json do not belong together",
        ),
        (changed("config.json", encoder_layers=3), "have no model.encoder.layers.2"),
        (changed("generation_config.json", bad_words_ids=[[1, 2]]), "bad_words_ids has sequences"),
        (changed("generation_config.json", forced_eos_token_id=5), "forced_eos_token_id 5 is not eos_token_id 0"),
        (learned_positions, "are learned positions"),
        (another_weight, "model.decoder.layer_norm.weight, which RingMT's models have no place for"),
    ],
)
def test_unsupported_checkpoints_are_refused_with_the_reason(
    damage: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    write_marian(tmp_path / "opus", Shape(pickled=True, languages=("de", "fr")))
    damage(tmp_path / "opus")
    with pytest.raises(ImportRefused, match=message):
        run_import(tmp_path / "opus", tmp_path / "out", "--language-token", "de")
    assert not (tmp_path / "out").exists()


def test_targets_that_a_checkpoint_does_not_have_or_say_are_refused(tmp_path: Path) -> None:
    write_marian(tmp_path / "several", Shape(languages=("deu", "fra")))
    for options, message in (
        (("--target", "nl"), "no language token nl: choose one by --language-token, among deu, fra, or none"),
        (("--languages", "fr,nl"), "has no language 'nl'; it has de, fr"),
        (("--languages", "en"), "--languages leaves no language to translate into"),
    ):
        with pytest.raises(ImportRefused, match=message):
            run_import(tmp_path / "several", tmp_path / "out", *options)
    write_marian(tmp_path / "one", Shape())
    with pytest.raises(ImportRefused, match="--languages is for a model of many languages"):
        run_import(tmp_path / "one", tmp_path / "out", "--languages", "de")
    changed("tokenizer_config.json", target_lang=None)(tmp_path / "one")
    with pytest.raises(ImportRefused, match="does not say its target language"):
        run_import(tmp_path / "one", tmp_path / "out")
    assert not (tmp_path / "out").exists()
