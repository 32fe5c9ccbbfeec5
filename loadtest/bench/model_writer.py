"""Writes random models for competitors, in a process of its own: what writing needs does not count as the engine's
memory.

Started with a JSON array on the command line: for each model the options of a competitor, and a folder.
"""

import json
import sys
from pathlib import Path
from typing import Any

from export.manifest import manifest_text
from loadtest.bench.ctranslate2_writer import convert, write_vocabulary_map
from loadtest.bench.firefox_files import LANGUAGES, first_made_up, import_firefox, write_firefox
from loadtest.bench.measure import COMPLETE
from loadtest.bench.ours import random_artifact
from loadtest.bench.shapes import random_model, random_plan, shape
from loadtest.bench.sources import Words
from model.config import EOS_ID, ModelConfig
from server.artifact.manifest import MANIFEST

FIREFOX = "firefox"
"""The folder of Firefox's files."""


def config_of(options: dict[str, Any]) -> ModelConfig:
    if options["config"] is not None:
        return ModelConfig.from_dict(json.loads(options["config"]))
    return shape(options["shape"], options["order"])


def write(options: dict[str, Any], folder: Path) -> None:
    """What `loadtest.bench.competitor` loads. With `shortlist` a model has one, and may be loaded without it."""
    config = config_of(options)
    if not config.has_ring:
        words = config.vocab_size - 1
        write_firefox(config, folder / FIREFOX)
        if options["engine"] == "ours":
            import_firefox(folder / FIREFOX, folder / "artifact")
        Words(first_made_up(folder / FIREFOX / f"vocab.{LANGUAGES}.spm"), words, config.eos_id).write(folder)
        return
    Words(EOS_ID + 1, config.vocab_size).write(folder)
    if options["engine"] == "ours":
        (folder / "artifact").mkdir()
        artifact = random_artifact(config, options["precision"], folder / "artifact", options["shortlist"])
        (folder / "artifact" / MANIFEST).write_text(manifest_text(artifact.manifest), encoding="utf-8")
    elif options["engine"] == "ctranslate2":
        convert(random_model(config), folder, quantization="int8" if options["precision"] == "int8" else None)
        if options["shortlist"]:
            write_vocabulary_map(random_plan(config.vocab_size), folder)


if __name__ == "__main__":
    for given in json.loads(sys.argv[1]):
        write(given, Path(given["folder"]))
        (Path(given["folder"]) / COMPLETE).touch()
