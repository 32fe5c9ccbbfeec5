"""The commands `ringmt import firefox` and `ringmt import marian-nmt`, binary shortlists, and what is refused."""

import argparse
import dataclasses
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from export.import_command import import_command
from export.importers import ImportRefused
from export.importers.marian_nmt.container import MarianModel, read_binary, read_model
from export.importers.marian_nmt.conventions import config_of
from export.importers.marian_nmt.files import find_beside, find_firefox
from export.importers.marian_nmt.shortlist import MAGIC, checksum_of, read_shortlist
from export.importers.marian_nmt.weights import model_of
from model.config import ModelConfig, SpecialIds
from server.artifact.artifact import Artifact
from server.artifact.manifest import AlignmentKind
from server.translation.loaded_model import open_vocabularies
from tests.export.importers.marian_nmt.make_models import DATA

ANSWERS = json.loads((DATA / "answers.json").read_text(encoding="utf-8"))


def run_import(*arguments: object) -> Artifact:
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    args = parser.parse_args([str(argument) for argument in arguments])
    assert import_command.run(args) == 0
    return Artifact.load(args.out)


@pytest.fixture
def firefox(tmp_path: Path) -> Path:
    """A folder as Firefox keeps it."""
    folder = tmp_path / "ende"
    folder.mkdir()
    shutil.copy(DATA / "student.bin", folder / "model.ende.intgemm.alphas.bin")
    shutil.copy(DATA / "vocab.spm", folder / "vocab.ende.spm")
    (folder / "config.intgemm8bitalpha.yml").write_text("beam-size: 1\nnormalize: 0.6\n", encoding="utf-8")
    write_shortlist(folder / "lex.50.50.ende.s2t.bin", [[word] for word in range(58)])
    return folder


def write_shortlist(path: Path, lists: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, lists)]).astype("<u8")
    ids = np.array([word for listed in lists for word in sorted(listed)], "<u4")
    body = struct.pack("<4Q", 50, 50, len(offsets), len(ids)) + offsets.tobytes() + ids.tobytes()
    path.write_bytes(struct.pack("<QQ", MAGIC, checksum_of(body)) + body)


def test_a_folder_of_firefox_becomes_an_artifact_and_is_checked(
    firefox: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(DATA / "vocab.spm"))
    rows = zip(ANSWERS["student"]["sources"], ANSWERS["student"]["beams"]["1"], strict=True)
    ended = [(source, row["pieces"]) for source, row in rows if len(row["pieces"]) < 3 * len(source)][:3]
    for name, texts in zip(("text", "against"), zip(*ended, strict=True), strict=True):
        lines = [pieces.decode_pieces(each) for each in texts]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    artifact = run_import(
        "firefox", firefox, "--out", tmp_path / "out", "--check", tmp_path / "text", "--against", tmp_path / "against",
        "--graphs", "onnx-fp32",
    )  # fmt: skip
    manifest = artifact.manifest
    assert (manifest.name, manifest.variant, manifest.length_penalty) == ("en-de", "Dec(ssru,full)", 0.6)
    assert manifest.alignment == AlignmentKind(1, 1, False, 0.0, 0)
    assert (manifest.ring_tensors, manifest.past_tensors) == ((), ("recurrent.0.cell",))
    assert f"fp32, beam 1: {len(ended)} of {len(ended)} sentences are the same" in capsys.readouterr().out


def test_weights_with_a_decoder_yml_and_listed_vocabularies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As OPUS-MT's zips have them."""
    folder = tmp_path / "opus"
    folder.mkdir()
    shutil.copy(DATA / "attention.npz", folder / "model.npz")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(DATA / "vocab.spm"))
    listed = {pieces.id_to_piece(index): index for index in range(len(pieces))}
    (folder / "vocab.yml").write_text(json.dumps(listed, ensure_ascii=False), encoding="utf-8")
    for side in ("source", "target"):
        shutil.copy(DATA / "vocab.spm", folder / f"{side}.spm")
    (folder / "decoder.yml").write_text(
        "vocabs: [/gone/vocab.yml, /gone/vocab.yml]\nword-penalty: 0.5\n", encoding="utf-8"
    )
    artifact = run_import(
        "marian-nmt", folder / "model.npz", "--out", tmp_path / "out", "--source", "en", "--target", "de", "--graphs",
        "onnx-fp32", "--ngram", "8",
    )  # fmt: skip
    assert (artifact.manifest.order, artifact.manifest.variant) == (8, "ngram-8")
    assert "configuration not used: word-penalty" in capsys.readouterr().err


def write_codes(folder: Path) -> list[str]:
    """A folder as OPUS-MT's older zips are, and the words of its model."""
    folder.mkdir()
    shutil.copy(DATA / "attention.npz", folder / "model.npz")
    letters = [f"{letter}{end}" for letter in "aehilnorstuv" for end in ("", "@@")]
    words = ["</s>", "<unk>", "th@@", "the", "hou@@", "&apos;s", "@-@", ".", ",", "-", *letters]
    words += [f"<{number}>" for number in range(58 - len(words))]
    listed = {word: index for index, word in enumerate(words)}
    (folder / "vocab.yml").write_text(json.dumps(listed), encoding="utf-8")
    for side in ("source", "target"):
        merges = "t h\nth e</w>\nh o\nho u\n& a\np o\n&a po\n&apo s\n; s</w>\n&apos ;s</w>\n@ -\n@- @</w>\n"
        (folder / f"{side}.bpe").write_text(f"#version: 0.2\n{merges}", encoding="utf-8")
    (folder / "decoder.yml").write_text("vocabs: [vocab.yml, vocab.yml]\n", encoding="utf-8")
    return words


def test_codes_beside_weights_cut_text_as_the_scripts_of_opus_mt_do(tmp_path: Path) -> None:
    """replace-unicode-punctuation, remove-non-printing-char, normalize-punctuation, tokenizer -a; subword-nmt."""
    words = write_codes(tmp_path / "opus")
    artifact = run_import(
        "auto", tmp_path / "opus", "--out", tmp_path / "out", "--source", "en_GB", "--target", "de", "--graphs",
        "onnx-fp32",
    )  # fmt: skip
    source, target = open_vocabularies(artifact)
    [ids] = source.encode(["the house\u2019s in\u00ad-\u200bhouse\uff0c the sin-tin ."])
    pieces = [words[index] for index in ids]
    expected = "the hou@@ s@@ e &apos;s i@@ n - hou@@ s@@ e , the s@@ i@@ n @-@ t@@ i@@ n . </s>"
    assert pieces == expected.split()
    assert target.decode([ids]) == ["the house 's in - house, the sin-tin."]  # as German is joined


def test_codes_behind_another_tokenizer_are_read_so(tmp_path: Path) -> None:
    words = write_codes(tmp_path / "opus")
    (tmp_path / "opus" / "target.bpe").unlink()
    with pytest.raises(ImportRefused, match=r"target\.spm is missing"):
        find_beside(tmp_path / "opus" / "model.npz")
    (tmp_path / "opus" / "target.bpe").write_text("no codes at all", encoding="utf-8")
    with pytest.raises(ImportRefused, match=r"target\.bpe .* no pair of units in line 1"):
        find_beside(tmp_path / "opus" / "model.npz")
    write_codes(tmp_path / "other")
    artifact = run_import(
        "marian-nmt", tmp_path / "other", "--out", tmp_path / "out", "--source", "en", "--target", "de", "--tokenizer",
        "blanks", "--graphs", "onnx-fp32",
    )  # fmt: skip
    [ids] = open_vocabularies(artifact)[0].encode(["the, the"])
    assert [words[index] for index in ids] == ["th@@", "e@@", ",", "the", "</s>"]


@pytest.mark.parametrize(
    "options", [("--tokenizer", "moses"), ("--subword-vocabulary", "known"), ("--subword-threshold", "5")]
)
def test_options_of_codes_are_refused_where_there_are_none(
    firefox: Path, tmp_path: Path, options: tuple[str, str]
) -> None:
    with pytest.raises(ImportRefused, match=f"{options[0]} is for codes of subword-nmt"):
        run_import("firefox", firefox, "--out", tmp_path / "out", "--source", "en", "--target", "de", *options)
    assert not (tmp_path / "out").exists()


def converted(name: str = "student.bin", config: dict[str, Any] | None = None, **weights: Any) -> MarianModel:
    """A model with changes; a weight of None is taken out."""
    model = read_model(DATA / name)
    changed = {key: value for key, value in {**model.weights, **weights}.items() if value is not None}
    return dataclasses.replace(model, config={**model.config, **(config or {})}, weights=changed)


def imported(model: MarianModel, ngram: int | None = None) -> ModelConfig:
    config = config_of(model, SpecialIds(58, 1, 58, 0), ngram, 64)
    model_of(model, config)
    return config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "s2s"}, "type is 's2s'"),
        ({"transformer-postprocess": "dhn"}, "transformer-postprocess is 'dhn': highway connections are not computed"),
        ({"transformer-preprocess": "n", "transformer-postprocess": "da"}, "computed are '', 'dan', ''"),
        ({"dec-cell": "gru"}, "dec-cell is 'gru'"),
        ({"transformer-decoder-autoreg": "average-attention"}, "'average-attention', which is not computed"),
        ({"transformer-tied-layers": [1, 1]}, "layers that share weights"),
        ({"transformer-train-position-embeddings": True}, "learned positions"),
        ({"transformer-ffn-activation": "tanh"}, "transformer-ffn-activation 'tanh' is none of relu, swish, gelu"),
        ({"transformer-decoder-dim-ffn": 8}, "differs from transformer-dim-ffn 64"),
        ({"enc-depth": 2}, "has no encoder_l2_self_Wq"),
        ({"dec-depth": 0}, "dec-depth must be a number from 1 on"),
        ({"dim-emb": 128}, "another shape than its configuration says"),
        ({"layer-normalization": True}, "a norm within the SSRU"),
        ({"factors-dim-emb": 8}, "factored vocabularies"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(changes: dict[str, Any], message: str) -> None:
    assert imported(converted()).variant == "Dec(ssru,full)"
    with pytest.raises(ImportRefused, match=message):
        imported(converted(config=changes))


def test_weights_that_are_left_over_or_missing_are_refused_and_orders_of_ssrus() -> None:
    with pytest.raises(ImportRefused, match="decoder_l1_rnn_Wx, which are not computed"):
        imported(converted(decoder_l1_rnn_Wx=np.zeros((2, 2), np.float32)))
    with pytest.raises(ImportRefused, match="has no decoder_ff_logit_out_b"):
        imported(converted(decoder_ff_logit_out_b=None))
    with pytest.raises(ImportRefused, match="leave --ngram out"):
        imported(converted(), ngram=8)
    top = {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n"}
    with pytest.raises(ImportRefused, match="attends to states without norm"):
        imported(converted("attention.npz", config=top))


@settings(deadline=None, max_examples=25)
@given(end=st.integers(0, 85_000))
def test_a_binary_that_is_cut_is_refused(end: int) -> None:
    path = DATA / "student.bin"
    with pytest.raises(ImportRefused):
        read_binary(path.read_bytes()[:end], path)


@pytest.mark.parametrize(("kind", "message"), [(0x402, "float16"), (0x9001, "type 0x9001, packed for one kind")])
def test_other_types_are_refused_by_name(kind: int, message: str) -> None:
    data = bytearray((DATA / "student.bin").read_bytes())
    data[24:32] = struct.pack("<Q", kind)  # of the first tensor
    with pytest.raises(ImportRefused, match=message):
        read_binary(bytes(data), DATA / "student.bin")


def remove(pattern: str) -> Callable[[Path], None]:
    return lambda folder: next(folder.glob(pattern)).unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove("model*"), "none where one model"),
        (remove("vocab*"), "none where one vocabulary"),
        (lambda folder: shutil.copy(DATA / "student.bin", folder / "other.bin"), "several: model.ende.*, other.bin"),
        (
            lambda folder: shutil.copy(DATA / "vocab.spm", folder / "srcvocab.spm"),
            "none where one vocabulary .trgvocab",
        ),
    ],
)
def test_folders_that_are_not_whole_are_refused(damage: Callable[[Path], None], message: str, firefox: Path) -> None:
    assert find_firefox(firefox).languages == ("en", "de")
    damage(firefox)
    with pytest.raises(ImportRefused, match=message):
        find_firefox(firefox)


@settings(deadline=None, max_examples=25)
@given(lists=st.lists(st.lists(st.integers(0, 99), max_size=5, unique=True), min_size=1, max_size=40))
def test_a_shortlist_is_read_as_it_was_written_and_damage_is_found(
    lists: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("lex") / "lex.bin"
    write_shortlist(path, lists)
    assert read_shortlist(path, len(lists), 100) == [sorted(each) for each in lists]
    with pytest.raises(ImportRefused, match="does not belong to the model"):
        read_shortlist(path, len(lists) + 1, 100)
    data = bytearray(path.read_bytes())
    data[48] ^= 1
    path.write_bytes(data)
    with pytest.raises(ImportRefused, match="checksum"):
        read_shortlist(path, len(lists), 100)
