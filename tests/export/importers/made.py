"""A tiny model of each format that is imported, as it lies on a disk."""

import argparse
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file

from export.artifact_writer import Content
from export.import_command import import_command
from export.importers.formats import FORMATS
from export.importers.local_path import local_path, whole_folder
from export.importers.recognise import recognise
from tests.export.importers.ctranslate2 import make_models
from tests.m2m100 import Shape as ManyShape
from tests.m2m100 import write_m2m100
from tests.marian import Shape as MarianShape
from tests.marian import write_marian

DATA = Path(__file__).parent / "marian_nmt" / "data"
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"


def marian(folder: Path) -> None:
    write_marian(folder, MarianShape())


def pickled(folder: Path) -> None:
    """As transformers wrote weights before safetensors."""
    marian(folder)
    torch.save(load_file(folder / SAFE), folder / PICKLED)
    (folder / SAFE).unlink()


def m2m100(folder: Path) -> None:
    write_m2m100(folder, ManyShape())


def ctranslate2(folder: Path) -> None:
    make_models.write_model(folder, make_models.SHAPES["OpenNMT-py at int8, without biases"])


def argos(folder: Path) -> None:
    make_models.write_package(folder, "en", "de")


def firefox(folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copyfile(DATA / "student.bin", folder / "model.ende.intgemm.alphas.bin")
    shutil.copyfile(DATA / "vocab.spm", folder / "vocab.ende.spm")


def marian_nmt(folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copyfile(DATA / "untied.npz", folder / "model.npz")
    for name in ("srcvocab.spm", "trgvocab.spm"):
        shutil.copyfile(DATA / name, folder / name)
    (folder / "decoder.yml").write_text("vocabs: [srcvocab.spm, trgvocab.spm]\nnormalize: 0.6\n", encoding="utf-8")


MAKERS: dict[str, Callable[[Path], None]] = {
    maker.__name__: maker for maker in (marian, pickled, m2m100, ctranslate2, argos, firefox, marian_nmt)
}


def loaded(path: Path, *options: str) -> Content:
    """What `ringmt import auto` reads at a path, before it writes it. Raises what the command raises."""
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    args = parser.parse_args(["auto", str(path), "--source", "en", "--target", "de", "--out", "unused", *options])
    with tempfile.TemporaryDirectory() as scratch:
        path = local_path(args.path, Path(scratch))
        args.format, args.path = recognise(whole_folder(path, Path(scratch)) if path.is_dir() else path)
        (Path(scratch) / "of-format").mkdir()
        opened = FORMATS[args.format](args, Path(scratch) / "of-format")
        return opened.load("de", Path(scratch) / "of-format")
