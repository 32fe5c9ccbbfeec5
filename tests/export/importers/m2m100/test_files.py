"""What folders of M2M-100 and NLLB-200 say, and what is refused of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from export.artifact_writer import Content
from export.importers import ImportRefused
from export.importers.language_tokens import Wanted, many_languages
from export.importers.m2m100.folder import M2M100Folder
from export.importers.m2m100.load import load_m2m100
from tests.m2m100 import NLLB_LANGUAGES, Shape, write_m2m100

NLLB = Shape(nllb=True)


def loaded(folder: Path) -> Content:
    opened = M2M100Folder.open(folder)
    languages = many_languages(opened.language_tokens(opened.words()), Wanted(), folder)
    return load_m2m100(opened, languages, folder, None, 48)


def changed(name: str, **values: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def rename_weight(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights[new] = weights.pop(old)
        save_file(weights, folder / "model.safetensors")

    return change


@pytest.mark.parametrize(
    ("shape", "damage", "message"),
    [
        (NLLB, changed("config.json", model_type="nllb-moe"), "is of a 'nllb-moe' model, not of a 'm2m_100' one"),
        (NLLB, changed("config.json", decoder_ffn_dim=64), "encoder_ffn_dim and decoder_ffn_dim differ"),
        (NLLB, changed("config.json", activation_function="gelu_new"), "'gelu_new' is none of relu"),
        (NLLB, changed("config.json", encoder_layers=3), "have no model.encoder.layers.2"),
        (NLLB, changed("config.json", vocab_size=125), "language token of fra_Latn has the id 125, the model only 125"),
        (NLLB, changed("tokenizer_config.json", legacy_behaviour=True), "legacy_behaviour"),
        (NLLB, without("sentencepiece.bpe.model"), "sentencepiece.bpe.model is missing: copy it"),
        (NLLB, without("tokenizer.json"), "does not say its languages"),
        (NLLB, without("model.safetensors"), "has neither model.safetensors nor pytorch_model.bin"),
        (NLLB, changed("generation_config.json", bad_words_ids=[[1, 2]]), "bad_words_ids has sequences"),
        (Shape(), changed("tokenizer_config.json", language_codes="other"), "is none of m2m100, wmt21"),
        (Shape(), changed("vocab.json", he=9999), "the vocabulary has 'he' at 9999, the model only"),
        (Shape(), rename_weight("model.encoder.layer_norm.weight", "other"), "have no model.encoder.layer_norm.weight"),
    ],
)
def test_what_is_not_read_is_refused_with_the_reason(
    shape: Shape, damage: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    write_m2m100(tmp_path / "checkpoint", shape)
    damage(tmp_path / "checkpoint")
    with pytest.raises(ImportRefused, match=message):
        loaded(tmp_path / "checkpoint")


def same(left: Content, right: Content) -> bool:
    first, second = (content.model.state_dict() for content in (left, right))
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_weights_in_several_files_are_those_in_one(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    write_m2m100(folder, NLLB)
    whole = loaded(folder)
    weights = load_file(folder / "model.safetensors")
    names = sorted(weights)
    places = {name: f"model-0000{1 + number % 2}-of-00002.safetensors" for number, name in enumerate(names)}
    for file in {*places.values()}:
        save_file({name: weights[name] for name in names if places[name] == file}, folder / file)
    (folder / "model.safetensors").unlink()
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    assert same(whole, loaded(folder))
    for other in ("missing.safetensors", "../checkpoint/model-00001-of-00002.safetensors"):
        index.write_text(json.dumps({"weight_map": places | {names[0]: other}}))
        with pytest.raises(ImportRefused, match="which is not beside it"):
            loaded(folder)


def test_ids_of_nllb_follow_from_sentencepiece_where_no_file_states_them(tmp_path: Path) -> None:
    """As in the first files of NLLB-200: the special tokens are listed in their order, without ids."""
    folder = tmp_path / "checkpoint"
    write_m2m100(folder, NLLB)
    stated = M2M100Folder.open(folder)
    words, tokens = stated.words(), stated.language_tokens(stated.words())
    assert [*tokens] == [*NLLB_LANGUAGES]
    (folder / "tokenizer.json").unlink()
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": [*NLLB_LANGUAGES]}))
    listed = M2M100Folder.open(folder)
    assert listed.words() == {word: index for word, index in words.items() if word != "<mask>"}
    # In these the mask comes behind the languages, in those of transformers 5 before them.
    assert listed.language_tokens(listed.words()) == {name: index - 1 for name, index in tokens.items()}


def test_sides_and_lists_keep_what_they_name(tmp_path: Path) -> None:
    write_m2m100(tmp_path / "checkpoint", NLLB)
    folder = M2M100Folder.open(tmp_path / "checkpoint")
    tokens = folder.language_tokens(folder.words())

    def kept(**wanted: Any) -> tuple[list[str], list[str]]:
        languages = many_languages(tokens, Wanted(**wanted), tmp_path)
        return [*languages.sources], [*languages.targets]

    every = ["ace-Arab", "de", "en", "fr", "zh", "zh-Hant"]
    assert kept() == (every, every)
    assert kept(source="eng_Latn") == (["en"], every)
    assert kept(target="de", kept="en,fr") == (["en", "fr"], ["de"])
    assert kept(source="en", target="de") == (["en"], ["de"])
