"""The command `ringmt import argos`: one package, a folder of packages, what is refused, and that it is served."""

import argparse
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from export.import_command import import_command
from export.importers import ImportRefused
from export.importers.argos.package import open_package
from server.artifact.artifact import Artifact
from server.artifact.discovery import find_models
from server.backends.load import load_backend
from server.engine.self_test import SelfTestResult, run_self_test
from tests.export.importers.ctranslate2.make_models import write_package, write_zip
from tests.server.api.conftest import ready, settings_for


def run(path: Path | str, out: Path, *arguments: str, graphs: str = "onnx-fp32") -> int:
    text = out.with_name("text")
    text.write_text("A house stands by the river.\n", encoding="utf-8")
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    options = ["--out", str(out), "--graphs", graphs, "--calibration", str(text)]
    return import_command.run(parser.parse_args(["argos", str(path), *options, *arguments]))


def test_a_folder_of_packages_becomes_artifacts_and_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed package, a downloaded one, an older one, one for cutting, one with empty codes."""
    folder, out = tmp_path / "packages", tmp_path / "models"
    write_package(folder / "translate-en_de-1_9", "en", "de")
    write_package(tmp_path / "translate-de_pb", "de", "pb")
    write_zip(tmp_path / "translate-de_pb", folder / "translate-de_pb.argosmodel")
    for name, metadata in {
        "translate-en_de-1_0": {"from_code": "en", "to_code": "de", "package_version": "1.0"},
        "sbd": {"type": "sbd"},
        "translate-en_sq": {"from_code": "en", "to_code": "sq"},
    }.items():
        (folder / name / "model").mkdir(parents=True)
        (folder / name / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    (folder / "translate-en_sq" / "model" / "model.bin").touch()
    (folder / "translate-en_sq" / "bpe.model").touch()
    assert run(folder, out) == 1
    errors = capsys.readouterr().err
    assert "translate-en_de-1_0, for whose languages there is a newer package" in errors
    assert "is a package of the type 'sbd', not for translation" in errors
    assert "translate-en_sq/bpe.model is no SentencePiece model that can be renumbered" in errors
    assert "has no pair of units in line 1: '': these are no codes of subword-nmt" in errors
    assert {name: path.name for name, path in find_models([out]).items()} == {"en-de": "en-de", "de-pt-BR": "de-pt-BR"}
    manifest = Artifact.load(out / "en-de").manifest
    assert (manifest.source_eos, manifest.length_penalty, manifest.order) == (False, 0.2, None)
    assert (manifest.origin["imported"], manifest.origin["version"]) == ("argos", "1.9")
    assert (out / "de-pt-BR" / "ATTRIBUTION.md").read_text(encoding="utf-8") == "Made by a test.\n"
    with ready(settings_for(out)) as served, served.client() as client:
        listed = {row["code"]: row["targets"] for row in client.get("/languages").json()}
        # LibreTranslate translates in two steps, too, and calls Brazilian Portuguese (Argos' pb) pt-BR.
        assert {code: sorted(targets) for code, targets in listed.items()} == {
            "en": ["de", "pt-BR"], "de": ["pt-BR"], "pt-BR": [],
        }  # fmt: skip
        answer = client.post("/translate", json={"q": "A house. Bread!", "source": "en", "target": "pb"})
        assert answer.status_code == 200


def test_a_package_becomes_an_artifact_at_int8_that_repeats_its_goldens(tmp_path: Path) -> None:
    """Its positions are weights, which stay at fp32."""
    write_package(tmp_path / "package", "en", "zh")
    assert run(tmp_path / "package", tmp_path / "out", graphs="onnx-int8") == 0
    artifact = Artifact.load(tmp_path / "out")
    assert (artifact.manifest.precisions, artifact.manifest.target_language) == (("int8",), "zh-Hans")
    assert run_self_test(artifact, load_backend(artifact, "onnx", "int8"), "onnx", "int8") == SelfTestResult(1, 1)


def packed(parts: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return data.getvalue()


METADATA = json.dumps({"from_code": "zt", "to_code": "en", "package_version": "1.10"}).encode()


def test_only_what_an_import_needs_is_unpacked(tmp_path: Path) -> None:
    parts = {
        "translate/metadata.json": METADATA, "translate/model/model.bin": b"weights", "translate/README.md": b"by them",
        "translate/sentencepiece.model": b"pieces", "translate/stanza/zh/large.pt": b"not needed",
        "translate/stanza/metadata.json": b"another's", "translate/model/../../evil": b"out", "elsewhere": b"out",
        "translate/model/..": b"out", "translate/model/below/deep": b"not needed", "/etc/absolute": b"out",
    }  # fmt: skip
    path, scratch = tmp_path / "a.argosmodel", tmp_path / "scratch"
    path.write_bytes(packed(parts))
    scratch.mkdir()
    package = open_package(path, scratch)
    assert (package.languages, package.version, package.age) == (("zh-Hant", "en"), "1.10", (1, 10))
    assert sorted(str(file.relative_to(scratch)) for file in scratch.rglob("*") if file.is_file()) == [
        "README.md", "metadata.json", "model/model.bin", "sentencepiece.model",
    ]  # fmt: skip
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no zip", "is no package of Argos, or damaged"),
        ({"model/model.bin": b""}, "has no metadata.json"),
        ({"metadata.json": b"{}"}, "has no from_code and to_code"),
        ({"metadata.json": b"["}, "cannot be read"),
        ({"metadata.json": METADATA[:-1] + b', "target_prefix": "__de__"}'}, "target_prefix is '__de__'"),
        ({"metadata.json": METADATA + bytes(2**20)}, "larger than 1,048,576 bytes"),
        ({"metadata.json": METADATA, "model/model.bin": bytes(65 * 2**20)}, "would unpack to 2 files"),
        ({"metadata.json": METADATA, **{f"model/{n}": b"" for n in range(64)}}, "would unpack to 65 files"),
        ({f"{n}": b"" for n in range(10_001)}, "has 10001 files"),
        (packed({"metadata.json": METADATA})[:-30], "is no package of Argos, or damaged"),
    ],
)
def test_what_is_no_package_is_refused(data: bytes | Mapping[str, bytes], message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.argosmodel"
    path.write_bytes(data if isinstance(data, bytes) else packed(data))
    with pytest.raises(ImportRefused, match=message):
        open_package(path, tmp_path)


def test_a_part_is_read_up_to_the_size_that_was_checked(tmp_path: Path) -> None:
    """The size in a zip's directory is a claim."""
    data = packed({"metadata.json": METADATA, "model/model.bin": bytes(1000)})
    claimed = data.replace((1000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert claimed != data
    path = tmp_path / "a.argosmodel"
    path.write_bytes(claimed)
    with pytest.raises(ImportRefused, match="damaged"):
        open_package(path, tmp_path)
    assert not (tmp_path / "model" / "model.bin").exists() or (tmp_path / "model" / "model.bin").stat().st_size <= 10


def test_options_of_one_package_are_refused_for_a_folder_and_folders_without_packages(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(ImportRefused, match="has no packages"):
        run(tmp_path / "none", tmp_path / "out")
    with pytest.raises(ImportRefused, match="--name is for one package"):
        run(tmp_path / "none", tmp_path / "out", "--name", "x")
    with pytest.raises(ImportRefused, match="is no package"):
        run(tmp_path / "missing", tmp_path / "out")
