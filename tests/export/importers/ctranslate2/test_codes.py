"""Folders of CTranslate2 whose words are cut by codes of subword-nmt."""

import argparse
import io
from pathlib import Path

import pytest
from subword_nmt.apply_bpe import BPE, read_vocabulary

from export.artifact_text import ArtifactText
from export.import_command import import_command
from export.importers import ImportRefused
from export.importers.ctranslate2.folder import open_folder
from export.importers.ctranslate2.load import load_ctranslate2
from export.importers.subwords import TOKENIZERS, Codes, Cutting
from export.unpack import unpack
from model.config import ConfigError
from server.artifact.artifact import Artifact
from server.subwords import moses as moses_module
from server.subwords.moses import Moses, MosesText
from server.text.base.pieces import VocabularyError
from server.translation.loaded_model import open_vocabularies
from tests.export.importers.ctranslate2.make_models import SPECIAL, Shape, write_model
from tests.subwords import TEXT, codes, pieces_of

LINES = [*TEXT, "\u201cIt\u2019s\u201d well-known\uff01 5.30 p.m. </s>", "a\tb  c"]


def write_folder(folder: Path, name: str, tokenizer: str = "moses", more: tuple[str, ...] = ()) -> Path:
    options = TOKENIZERS[tokenizer]
    words = [*SPECIAL, *pieces_of(TEXT, Moses("en", **(options or {})), codes()), *more]
    write_model(folder, Shape(), words=(words, words))
    for each in name.split():
        (folder / each).write_text(codes(), encoding="utf-8")
    return folder


def run(path: Path, out: Path, *arguments: str) -> Artifact:
    text = out.with_name("text")
    text.write_text("A house stands by the river.\n", encoding="utf-8")
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    options = ["--out", str(out), "--graphs", "onnx-fp32", "--calibration", str(text), "--target", "de"]
    assert import_command.run(parser.parse_args(["ctranslate2", str(path), *options, *arguments])) == 0
    return Artifact.load(out)


@pytest.mark.parametrize(
    ("name", "arguments", "tokenizer"),
    [
        ("source.bpe target.bpe", (), "opus-mt"),
        ("bpecodes", (), "fairseq"),
        ("bpecodes", ("--tokenizer", "moses"), "moses"),
        ("bpe.codes", ("--tokenizer", "blanks"), "blanks"),
    ],
)
def test_text_is_cut_by_what_the_name_or_the_command_says(
    name: str, arguments: tuple[str, ...], tokenizer: str, tmp_path: Path
) -> None:
    folder = write_folder(tmp_path / "model", name, tokenizer)
    artifact = run(folder, tmp_path / "out", "--source", "en", *arguments)
    words = open_folder(folder, cutting=Cutting(tokenizer)).source
    options, bpe = TOKENIZERS[tokenizer], BPE(io.StringIO(codes()))
    for line, ids in zip(LINES, ArtifactText(artifact.folder, artifact.manifest).sources(LINES), strict=True):
        cut = line.split(" ") if options is None else MosesText(Moses("en", **options)).words(line)
        expected = [piece if piece in words else "<unk>" for piece in bpe.segment_tokens(cut)]
        assert [words[index] for index in ids] == expected


def test_languages_are_called_as_moses_scripts_call_them(tmp_path: Path) -> None:
    """French words end with an apostrophe, in de-AT and fr_CA as in de and fr."""
    folder = write_folder(tmp_path / "model", "bpecodes")
    artifact = run(folder, tmp_path / "out", "--source", "fr_CA")
    french, german = (vocabulary.encode(["isn't"])[0][:-1] for vocabulary in open_vocabularies(artifact))
    cut = [[*MosesText(Moses(language)).words("isn't")] for language in ("fr", "de")]
    assert cut == [["isn&apos;", "t"], ["isn", "&apos;", "t"]]
    assert len(french) == len(BPE(io.StringIO(codes())).segment_tokens(cut[0])[:-1])
    assert len(german) == len(BPE(io.StringIO(codes())).segment_tokens(cut[1]))


def test_codes_that_are_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", "other")
    assert open_folder(folder, [folder / "other"], cutting=Cutting("moses")).segmenters == (
        Codes(folder / "other", "moses"), Codes(folder / "other", "moses"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "cutting", "more", "message"),
    [
        (
            "bpe.codes",
            Cutting(),
            (),
            r"bpe\.codes has codes of subword-nmt or pyonmttok, and nothing says what cuts text",
        ),
        ("source.bpe", Cutting(), (), r"has no SentencePiece model .* and no codes"),
        ("bpecodes", Cutting(), tuple(f"\uffed{number}" for number in range(9)), "words of OpenNMT's tokenizer"),
    ],
)
def test_what_is_refused(name: str, cutting: Cutting, more: tuple[str, ...], message: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "model", name, more=more)
    with pytest.raises(ImportRefused, match=message):
        load_ctranslate2(open_folder(folder, (), None, cutting), "de", tmp_path, None, 64, None)


def test_rare_pieces_are_split_as_subword_nmt_splits_them(tmp_path: Path) -> None:
    """With --vocabulary and --vocabulary-threshold."""
    folder = write_folder(tmp_path / "model", "bpecodes")
    counts = {word: number % 7 for number, word in enumerate(open_folder(folder).source[4:])}
    listed = "".join(f"{word} {count}\n" for word, count in counts.items())
    (tmp_path / "vocabulary").write_text(listed, encoding="utf-8")
    artifact = run(
        folder, tmp_path / "out", "--source", "en", "--subword-vocabulary", str(tmp_path / "vocabulary"),
        "--subword-threshold", "4",
    )  # fmt: skip
    kept = read_vocabulary(io.StringIO(listed), 4)
    words, bpe = open_folder(folder).source, BPE(io.StringIO(codes()), vocab=kept)
    moses = MosesText(Moses("en", splits_dashes=True))
    split = 0
    for line, ids in zip(TEXT, ArtifactText(artifact.folder, artifact.manifest).sources(TEXT), strict=True):
        expected = bpe.segment_tokens(moses.words(line))
        assert [words[index] for index in ids] == [piece if piece in words else "<unk>" for piece in expected]
        split += len(expected) - len(BPE(io.StringIO(codes())).segment_tokens(moses.words(line)))
    assert split > 20


@pytest.mark.parametrize(
    ("text", "message"),
    [("the 5\nold\n", "no piece and its number in line 2: 'old'"), ("the 1\n", "no piece that occurs 3 times")],
)
def test_lists_of_pieces_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "vocabulary").write_text(text, encoding="utf-8")
    folder = write_folder(tmp_path / "model", "bpecodes")
    with pytest.raises(ImportRefused, match=message):
        open_folder(folder, cutting=Cutting(known=(tmp_path / "vocabulary",), threshold=3))


def test_a_vocabulary_of_other_words_does_not_belong_to_codes(tmp_path: Path) -> None:
    write_model(tmp_path / "model", Shape(), words=([*SPECIAL, "a", "b"], [*SPECIAL, "a", "b"]))
    (tmp_path / "model" / "bpecodes").write_text(codes(), encoding="utf-8")
    with pytest.raises(ImportRefused, match="no word that ends with @@, which bpecodes makes"):
        load_ctranslate2(open_folder(tmp_path / "model"), "de", tmp_path, None, 64, None)


def test_several_targets_are_refused_and_one_is_read(tmp_path: Path) -> None:
    """Languages join words by rules of their own."""
    folder = write_folder(tmp_path / "model", "source.bpe target.bpe", "opus-mt", (">>deu<<", ">>nld<<"))
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    args = parser.parse_args(["ctranslate2", str(folder), "--source", "en", "--out", str(tmp_path)])
    with pytest.raises(ImportRefused, match="several targets, and words that are joined by the rules of one language"):
        import_command.run(args)
    artifact = run(folder, tmp_path / "out", "--source", "en")
    source, target = open_vocabularies(artifact)
    [ids] = source.encode([">>nld<< house"])
    words = open_folder(folder).source
    assert words[ids[0]] == ">>deu<<"
    assert words.index(">>nld<<") not in ids
    assert target.decode([[words.index(">>nld<<"), *ids[-3:]]]) == target.decode([ids[-3:]])


def test_nothing_is_trained_on_such_an_artifact(tmp_path: Path) -> None:
    artifact = run(write_folder(tmp_path / "model", "bpecodes"), tmp_path / "out", "--source", "en")
    with pytest.raises(ConfigError, match="words of subword-nmt, for which nothing is trained here"):
        unpack(artifact.folder, tmp_path / "checkpoint")


def test_the_missing_package_is_named_at_the_import_and_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_folder(tmp_path / "model", "bpecodes")
    artifact = run(folder, tmp_path / "out", "--source", "en")

    def missing(name: str) -> None:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(moses_module, "import_module", missing)
    with pytest.raises(ImportRefused, match=r"bpecodes .*needs the package sacremoses.*pip install 'ringmt\[moses\]'"):
        run(folder, tmp_path / "other", "--source", "en")
    with pytest.raises(VocabularyError, match=r"vocabulary\.model needs the package sacremoses"):
        open_vocabularies(artifact)
