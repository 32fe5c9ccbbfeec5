"""Which format a path holds."""

import json
from pathlib import Path

import pytest

from export.importers import ImportRefused
from export.importers.formats import FORMATS
from export.importers.recognise import recognise

FOLDERS: dict[str, tuple[str, ...]] = {
    "argos": ("metadata.json", "model/model.bin", "sentencepiece.model"),
    "argos, some": ("translate-en_de/metadata.json", "notes.txt"),
    "argos, downloaded": ("translate-en_de.argosmodel",),
    "ctranslate2": ("model.bin", "config.json", "shared_vocabulary.json", "source.spm", "target.spm"),
    "ctranslate2, old": ("model.bin", "source_vocabulary.txt", "target_vocabulary.txt"),
    "firefox": ("model.ende.intgemm.alphas.bin", "vocab.ende.spm", "lex.50.50.ende.s2t.bin"),
    "firefox, two": ("model.enja.bin", "srcvocab.enja.spm", "trgvocab.enja.spm"),
    "marian": ("config.json", "model.safetensors", "pytorch_model.bin", "vocab.json", "source.spm", "target.spm"),
}


def write(folder: Path, names: tuple[str, ...], config: object = None) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(config if name == "config.json" else {}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_are_recognised(name: str, tmp_path: Path) -> None:
    config = {"model_type": "marian"} if name == "marian" else {}
    folder = write(tmp_path, FOLDERS[name], config)
    assert recognise(folder) == (name.partition(",")[0], folder)


def test_of_marians_own_files_the_weights_are_taken(tmp_path: Path) -> None:
    folder = write(tmp_path, ("opus.npz", "decoder.yml", "opus.vocab.yml", "source.spm", "target.spm"))
    assert recognise(folder) == recognise(folder / "opus.npz") == ("marian-nmt", folder / "opus.npz")
    (folder / "other.npz").touch()
    with pytest.raises(ImportRefused, match=r"several files of weights \(opus.npz, other.npz\): name one"):
        recognise(folder)


def test_files_are_recognised(tmp_path: Path) -> None:
    folder = write(tmp_path, FOLDERS["ctranslate2"])
    assert recognise(folder / "model.bin") == ("ctranslate2", folder)
    (folder / "a.argosmodel").touch()
    assert recognise(folder / "a.argosmodel") == ("argos", folder / "a.argosmodel")
    assert {recognise(folder / name)[0] for name in ("model.bin", "a.argosmodel")} <= {*FORMATS}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "it has none that is known"),
        (("opus.zip",), "opus.zip is packed: give its path"),
        (("config.json", "model.safetensors"), "is of a 'bart' model; of transformers 'marian' and"),
    ],
)
def test_what_is_none_is_refused_with_what_to_do(names: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match=message):
        recognise(write(tmp_path, names, {"model_type": "bart"}))
    (tmp_path / "opus.rar").touch()
    with pytest.raises(ImportRefused, match=r"is of no format that is read, nor packed as .zip, .gz, .zst, .tar"):
        recognise(tmp_path / "opus.rar")
    with pytest.raises(ImportRefused, match="is no file and no folder"):
        recognise(tmp_path / "missing")
