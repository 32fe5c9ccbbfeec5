"""Models of other programs on this machine."""

import argparse
import json
from pathlib import Path

import pytest

from export.local_models import find_local_models
from export.models_command import command_for, models_command
from server.cli.main import COMMANDS


def write(folder: Path, **files: object) -> Path:
    """Files by their names, with __ for a dot; objects as JSON."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    data, hub = tmp_path / ".local" / "share", tmp_path / ".cache" / "huggingface" / "hub"
    packages = data / "argos-translate" / "packages"
    write(packages / "translate-en_pb", metadata__json={"from_code": "en", "to_code": "pb"})
    write(packages / "sbd", metadata__json={"type": "sbd"})
    write(packages / "damaged", metadata__json=[])
    write(data / "translateLocally" / "ende.tiny", model__ende__bin=0, vocab__ende__spm=0)
    info = {"srcTags": {"cs": "Czech"}, "trgTag": "en"}
    write(data / "translateLocally" / "cs-en", model__npz=0, vocab__spm=0, model_info__json=info)
    marian, tags = {"model_type": "marian"}, {"source_lang": "eng", "target_lang": "deu"}
    write(
        hub / "models--Helsinki-NLP--opus-mt-en-de" / "snapshots" / "1234", config__json=marian,
        tokenizer_config__json=tags,
    )  # fmt: skip
    write(hub / "models--facebook--nllb-200" / "snapshots" / "3", config__json={"model_type": "m2m_100"})
    write(hub / "models--other--language-model" / "snapshots" / "5", config__json={"model_type": "llama"})
    write(hub / "models--someone--my model" / "snapshots" / "6", model__bin=0, shared_vocabulary__json=[])
    return tmp_path


def test_models_of_other_programs_are_found(home: Path) -> None:
    models = find_local_models({}, home)
    assert [(model.format, model.pair) for model in models] == [
        ("argos", "en-pt-BR"), ("firefox", "cs-en"), ("firefox", "en-de"), ("marian", "eng-deu"),
        ("m2m100", "mul-mul"), ("ctranslate2", "?-?"),
    ]  # fmt: skip
    assert models[0].size == (models[0].path / "metadata.json").stat().st_size
    packages = models[0].path
    assert command_for(models[0]) == f"ringmt import argos {packages} --out MODELS/en-pt-BR"
    assert command_for(models[4]) == f"ringmt import m2m100 {models[4].path} --out MODELS/NAME"
    assert command_for(models[5]) == (
        f"ringmt import ctranslate2 '{models[5].path}' --source SOURCE --target TARGET --out MODELS/NAME"
    )


def test_the_variables_of_the_programs_name_other_places(home: Path, tmp_path: Path) -> None:
    packages, hub = tmp_path / "elsewhere", home / ".cache" / "huggingface" / "hub"
    write(packages / "translate-de_fr", metadata__json={"from_code": "de", "to_code": "fr"})
    environment = {"ARGOS_PACKAGES_DIR": str(packages), "HF_HUB_CACHE": str(hub)}
    assert [model.pair for model in find_local_models(environment, tmp_path / "nobody")] == [
        "de-fr", "eng-deu", "mul-mul", "?-?",
    ]  # fmt: skip


def test_the_command_lists_them(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "ARGOS_PACKAGES_DIR", "HF_HOME", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    parser = argparse.ArgumentParser()
    models_command.add_arguments(parser)
    for place, shown in ((home, "ringmt import argos "), (home / "none", "no models of other programs here")):
        monkeypatch.setenv("HOME", str(place))
        assert models_command.run(parser.parse_args([])) == 0
        assert shown in capsys.readouterr().out
    assert "models" in COMMANDS
