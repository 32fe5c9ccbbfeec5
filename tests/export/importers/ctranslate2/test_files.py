"""Folders of CTranslate2: models, vocabularies and maps of words, and what is refused."""

import dataclasses
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from export.importers import ImportRefused
from export.importers.ctranslate2.conventions import alignment_of, check_supported, config_of, starts_from_zero
from export.importers.ctranslate2.folder import ModelFolder, open_folder
from export.importers.ctranslate2.load import load_ctranslate2
from export.importers.ctranslate2.shortlist import read_map
from export.importers.ctranslate2.vocabulary import NONE, Words, ordered
from export.importers.ctranslate2.weights import model_of
from export.importers.marian_vocabulary import PROTO, Numbered, write_vocabulary
from model.alignment import AlignmentHead
from model.config import ModelConfig, SpecialIds
from tests.export.importers.ctranslate2.make_models import HEADS, LAYERS, SHAPES, WIDTH, Shape, write_model
from tests.models import SENTENCES


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "model"
    write_model(path, SHAPES["OpenNMT-py at int8, without biases"])
    return path


@pytest.fixture
def opened(folder: Path) -> ModelFolder:
    return open_folder(folder)


def changed(opened: ModelFolder, **values: Any) -> ModelFolder:
    """With other variables; names have __ for /, and None takes one out."""
    names = {name.replace("__", "/"): value for name, value in values.items()}
    stored = {
        **opened.variables.stored,
        **{name: np.asarray(value) for name, value in names.items() if value is not None},
    }
    left = {name: value for name, value in stored.items() if names.get(name, 0) is not None}
    aliases = {alias: name for alias, name in opened.variables.aliases.items() if alias not in names}
    return dataclasses.replace(opened, variables=dataclasses.replace(opened.variables, stored=left, aliases=aliases))


def imported(opened: ModelFolder) -> ModelConfig:
    check_supported(opened)
    words = Words.of(opened, starts_from_zero(opened.variables))
    config = config_of(opened, words, None, 64)
    model_of(opened.variables, words, config)
    return config


ONE = np.ones(1, np.float32)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"decoder__layer_0__self_attention__relative_position_keys": ONE}, "relative positions without absolute"),
        ({"encoder__layer_0__self_attention__relative_attention_bias": ONE}, "the relative attention bias of T5"),
        ({"decoder__layer_0__self_attention__rotary_dim": 8}, "rotary positions"),
        ({"decoder__layernorm_embedding__gamma": ONE}, "a norm behind the embedding"),
        ({"encoder__layer_0__ffn__linear_0_noact__weight": ONE}, "gated feed-forward layers"),
        ({"decoder__layer_0__self_attention__num_heads_kv": 1}, "keys and values that heads share"),
        ({"encoder__embeddings_1__weight": ONE}, "source factors"),
        ({"decoder__alibi": 1}, "decoder/alibi is set"),
        ({"decoder__activation": 1, "encoder__activation": 1}, "the activation gelu by tanh"),
        ({"decoder__activation": 2}, "encoder/activation and decoder/activation differ"),
        ({"decoder__num_heads": 4}, "encoder/num_heads and decoder/num_heads differ"),
        ({"decoder__scale_embeddings": np.float32(3)}, "not by 1 or sqrt"),
        ({"decoder__scale_embeddings": np.int8(0)}, "of the other not"),
        ({"decoder__layer_1__ffn__layer_norm__beta": None}, "decoder/layer_1/ffn/layer_norm is an RMS norm"),
        ({"decoder__layer_norm__gamma": None, "decoder__layer_norm__beta": None}, "has no decoder/layer_norm/gamma"),
        ({"decoder__layer_3__ffn__linear_0__weight": ONE}, "layers are .0, 1, 3."),
        (
            {
                "decoder__layer_0__ffn__linear_0__weight": np.ones((8, WIDTH), np.float32),
                "decoder__layer_0__ffn__linear_0__weight_scale": np.ones(8, np.float32),
            },
            "differ in width",
        ),
        ({"decoder__something": ONE}, "decoder/something, which RingMT's models have no place for"),
        ({"encoder__layer_0__self_attention__linear_1__weight": ONE}, "has scales of the shape .32."),
        ({"encoder__layer_norm__gamma": ONE}, "do not belong together"),
        ({"decoder__embeddings__weight": None}, "has no decoder/embeddings/weight"),
    ],
)
def test_what_is_not_computed_is_refused_by_name(variables: dict[str, Any], message: str, opened: ModelFolder) -> None:
    assert imported(opened).encoder_layers == LAYERS
    with pytest.raises(ImportRefused, match=message):
        imported(changed(opened, **variables))


def test_other_kinds_of_models_are_refused_by_name(opened: ModelFolder) -> None:
    for name, what in {"WhisperSpec": "a model of speech", "TransformerDecoderModelSpec": "a language model"}.items():
        other = dataclasses.replace(opened, variables=dataclasses.replace(opened.variables, specification=name))
        with pytest.raises(ImportRefused, match=f"is a {name}, {what}"):
            imported(other)
    many = dataclasses.replace(opened, target=[*opened.target[:-2], "__de__", "__fr__"])
    with pytest.raises(ImportRefused, match="a model of many languages"):
        imported(many)
    nameless = dataclasses.replace(opened, conventions=dataclasses.replace(opened.conventions, start=None))
    with pytest.raises(ImportRefused, match="names no decoder_start_token"):
        imported(nameless)


def test_the_head_that_was_trained_to_align_is_taken(opened: ModelFolder) -> None:
    config = imported(opened)

    def head(layer: int, heads: int) -> AlignmentHead | None:
        return alignment_of(
            changed(opened, decoder__alignment_layer=layer, decoder__alignment_heads=heads).variables, config
        )

    assert head(-1, 1) is None  # the converters' default
    assert head(0, 1) == AlignmentHead(1, 1)
    assert head(-1, 0) == head(1, HEADS) == AlignmentHead(LAYERS, None)
    assert head(5, 1) is None


def test_one_matrix_with_two_tables_of_positions_becomes_two(tmp_path: Path) -> None:
    write_model(tmp_path / "model", Shape(tied=True))
    opened = open_folder(tmp_path / "model")
    assert imported(opened).source_embedding == "shared"
    table = 2 * opened.variables.weight("encoder/position_encodings/encodings")
    other = changed(opened, encoder__position_encodings__encodings=table)
    model = load_ctranslate2(other, "de", tmp_path, None, 64, None).model
    assert model.source_embedding is not None
    assert model.source_embedding.positions is not None
    np.testing.assert_array_equal(model.source_embedding.positions.detach().numpy(), table)
    assert torch.equal(model.source_embedding.weight, model.embedding.weight)


def test_ids_of_the_source_follow_those_of_the_target() -> None:
    """However a source numbers UNK and EOS; a source without EOS gets a row of zeros in its place."""
    for words in itertools.permutations(["<unk>", "</s>", "a", "b"]):
        rows = ordered(words, {"<unk>": 1, "</s>": 3})
        assert (words[rows[1]], words[rows[3]]) == ("<unk>", "</s>")
        assert sorted(rows) == [0, 1, 2, 3]
    assert ordered(["<unk>", "a"], {"<unk>": 1, "</s>": 0}) == [NONE, 0, 1]
    assert ordered(["<unk>"], {"<unk>": 3, "</s>": 1}) == [NONE, NONE, NONE, 0]


def remove(*names: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return change


def lines(name: str, content: bytes) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove("model.bin"), "has no model.bin"),
        (remove("source.spm"), "has no SentencePiece model"),
        (remove("shared_vocabulary.json"), "has no source_vocabulary.json or .txt"),
        (lines("shared_vocabulary.json", b"{}"), "shared_vocabulary is no list of words"),
        (lines("shared_vocabulary.json", b'["a"]'), "eos_token '</s>' is not in the vocabulary"),
        (lines("shared_vocabulary.json", b'["</s>", "<s>", "<unk>"]'), "do not belong together"),
        (lines("config.json", b"["), "config.json cannot be read"),
        (lines("config.json", b'{"eos_token": 3}'), "eos_token must be a word, not 3"),
        (lines("config.json", b'{"layer_norm_epsilon": "small"}'), "layer_norm_epsilon 'small' is no number"),
        (lines("model.bin", b""), "cannot be read"),
    ],
)
def test_folders_that_are_not_whole_are_refused(damage: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    write_model(tmp_path / "model", Shape())
    damage(tmp_path / "model")
    with pytest.raises(ImportRefused, match=message):
        load_ctranslate2(open_folder(tmp_path / "model"), "de", tmp_path, None, 64, None)


def test_a_folder_with_codes_of_bpe_is_refused_by_name(folder: Path, tmp_path: Path) -> None:
    """As subword-nmt 0.3.8 and pyonmttok 1.38.1 write them."""
    (tmp_path / "bpe.model").write_text("#version: 0.2\nt h\ni n</w>\n", encoding="utf-8")
    with pytest.raises(ImportRefused, match="codes of subword-nmt or pyonmttok"):
        open_folder(folder, beside=tmp_path)
    named = open_folder(folder, [folder / "source.spm"], tmp_path)
    assert named.segmenters == (folder / "source.spm", folder / "source.spm")


def test_a_bpe_model_that_sentencepiece_made_is_read(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "source.spm", tmp_path / "bpe.model")
    assert open_folder(folder, beside=tmp_path).segmenters == (tmp_path / "bpe.model", tmp_path / "bpe.model")


@pytest.mark.parametrize(
    ("joined", "program"), [("{}@@", "subword-nmt"), ("{}\uffed", "pyonmttok"), ("\uffed{}", "pyonmttok")]
)
def test_words_of_other_programs_are_refused_whatever_cuts_the_text(
    joined: str, program: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "model")
    path = tmp_path / "model" / "shared_vocabulary.json"
    words = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps([*words[:-9], *(joined.format(word) for word in words[-9:])]), encoding="utf-8")
    with pytest.raises(ImportRefused, match=f"the vocabulary has words of .*{program}"):
        load_ctranslate2(open_folder(tmp_path / "model"), "de", tmp_path, None, 64, None)


def test_vocabularies_of_lines_are_read_with_any_line_ends(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    words = json.loads((tmp_path / "shared_vocabulary.json").read_text(encoding="utf-8"))
    (tmp_path / "shared_vocabulary.json").unlink()
    for end in ("\n", "\r\n"):
        written_lines = "".join(f"{word}{end}" for word in words)
        (tmp_path / "shared_vocabulary.txt").write_text(written_lines, encoding="utf-8", newline="")
        assert open_folder(tmp_path).target == words


def test_a_map_of_words_lists_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "vmap.txt"
    path.write_text("\ta b\nx\tc missing\nx y\td\nmissing\ta\n", encoding="utf-8")
    target = {word: index for index, word in enumerate("abcd")}
    assert read_map(path, {"x": 0, "y": 1}, target) == ([0, 1], [[2, 3], []])
    path.write_text("no tab\n", encoding="utf-8")
    with pytest.raises(ImportRefused, match="a line without a tab"):
        read_map(path, {"x": 0}, target)


def test_a_bpe_model_is_renumbered_and_cuts_the_same(tmp_path: Path) -> None:
    """Words that it lacks take no part in merges."""
    path = tmp_path / "bpe.spm"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 4), model_prefix=str(tmp_path / "bpe"), vocab_size=90, model_type="bpe",
        minloglevel=2,
    )  # fmt: skip
    (tmp_path / "bpe.model").rename(path)
    own = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = [own.id_to_piece(index) for index in range(3, len(own))]
    listed = ["<unk>", "</s>", "__de__", "\u2581Th", "rive", "old", *reversed(pieces)]
    ids = {word: index for index, word in reversed([*enumerate(listed)])}
    write_vocabulary(Numbered(path, ids, len(listed)), SpecialIds(1, 0, 1, 1), tmp_path / "ours.model")
    ours = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "ours.model"))
    assert ours.GetPieceSize() == len(listed)
    for sentence in SENTENCES:
        assert ours.encode(sentence, out_type=str) == own.encode(sentence, out_type=str)
        assert ours.encode(sentence) == [ids.get(piece, 0) for piece in own.encode(sentence, out_type=str)]
    kinds = {
        piece.piece: piece.type for piece in PROTO.ModelProto.FromString((tmp_path / "ours.model").read_bytes()).pieces
    }
    assert kinds["__de__"] == PROTO.ModelProto.SentencePiece.CONTROL
