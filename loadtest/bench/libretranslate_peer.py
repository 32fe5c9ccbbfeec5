"""The peer of `bench load --peer libretranslate`: LibreTranslate in its own environment, with the same weights.

LibreTranslate (AGPL) stays a program of its own, which `libretranslate_main.py` starts with its interpreter.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import sentencepiece

from loadtest.bench import libretranslate_main
from loadtest.bench.ctranslate2_writer import convert
from loadtest.bench.http_bench import running_server
from model.training.checkpoint import find_vocabulary, load_model


@contextlib.contextmanager
def libretranslate(python: Path, checkpoint: Path, languages: tuple[str, str], port: int) -> Iterator[None]:
    """A ready LibreTranslate at the port. `python`: the interpreter of its environment. Raises RuntimeError if it does
    not start, ValueError for a model that Argos packages cannot hold."""
    with tempfile.TemporaryDirectory() as scratch:
        packages = Path(scratch) / "packages"
        write_package(checkpoint, packages, *languages)
        write_package(checkpoint, packages, *reversed(languages))  # with fewer than two, it asks the network
        environment = {
            "ARGOS_PACKAGES_DIR": str(packages),
            "ARGOS_CHUNK_TYPE": "MINISBD",
            "ARGOS_COMPUTE_TYPE": "int8",
            "ARGOS_INTER_THREADS": str(os.cpu_count() or 1),  # CTranslate2's fastest setting (loadtest/bench/results)
            "ARGOS_INTRA_THREADS": "1",
            **dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), scratch),
        }
        command = [str(python), str(Path(libretranslate_main.__file__)), str(port)]
        with running_server(command, f"http://127.0.0.1:{port}", "/languages", environment):
            yield


def write_package(checkpoint: Path, folder: Path, source: str, target: str) -> Path:
    """A package of Argos Translate (a folder) with the weights of a checkpoint."""
    model, vocabulary = load_model(checkpoint), find_vocabulary(checkpoint)
    if model.config.encoder_attention.relative:
        raise ValueError(f"{checkpoint}: a package of Argos cannot hold relative positions of the encoder")
    package = folder / f"translate-{source}_{target}-1_0"
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    special = {0: "<blank>", 1: "<unk>", 2: "<s>", 3: "</s>"}
    words = [special.get(index) or pieces.id_to_piece(index) for index in range(model.config.vocab_size)]
    convert(model, package / "model", words, add_source_eos=True)
    shutil.copy(vocabulary, package / "sentencepiece.model")
    (package / "README.md").write_text("Written for a measurement.\n", encoding="utf-8")
    metadata = {"package_version": "1.0", "argos_version": "1.9", "target_prefix": ""}
    metadata |= {"from_code": source, "from_name": source, "to_code": target, "to_name": target}
    (package / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    return package


def version_of(python: Path) -> str:
    """LibreTranslate's version. Raises ValueError where the interpreter has none."""
    show = "import importlib.metadata as m; print(m.version('libretranslate'))"
    result = subprocess.run([str(python), "-c", show], capture_output=True, text=True, check=False)
    if result.returncode:
        raise ValueError(f"{python} has no libretranslate: make an environment with it, and name its python")
    return result.stdout.strip()
