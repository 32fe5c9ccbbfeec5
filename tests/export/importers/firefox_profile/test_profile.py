"""Models in a profile of Firefox: found, chosen, imported; what is refused."""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from export.importers import ImportRefused
from export.importers.firefox_profile.attachments import DATABASE
from export.importers.firefox_profile.models import PLACES, chosen, models_in, write_files
from export.importers.recognise import recognise
from export.local_models import find_local_models
from export.models_command import command_for
from tests.export.importers.firefox_profile.make_profile import FIRST, SECOND, Download, write_profile
from tests.export.importers.marian_nmt.make_models import DATA
from tests.export.importers.marian_nmt.test_files import run_import, write_shortlist

MODEL, VOCABULARY = (DATA / "student.bin").read_bytes(), (DATA / "vocab.spm").read_bytes()
needs_zstd = pytest.mark.skipif(shutil.which("zstd") is None, reason="the program zstd packs the files")


def of_pair(collection: str, pair: str, version: str = "1.0", model: bytes = b"weights") -> list[Download]:
    languages = (pair[:2], pair[2:])
    return [
        Download(collection, f"model.{pair}.intgemm.alphas.bin", "model", model, languages, version),
        Download(collection, f"vocab.{pair}.spm", "vocab", VOCABULARY, languages, version),
        Download(collection, f"qualityModel.{pair}.bin", "qualityModel", b"no part of it", languages, version),
    ]


@pytest.mark.parametrize("collection", [FIRST, pytest.param(SECOND, marks=needs_zstd)])
def test_the_import_from_a_profile_is_that_of_the_files(collection: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    write_shortlist(folder / "lex.50.50.ende.s2t.bin", [[word] for word in range(58)])
    lists = Download(collection, "lex.50.50.ende.s2t.bin", "lex", (folder / "lex.50.50.ende.s2t.bin").read_bytes())
    profile = write_profile(tmp_path / "x.default", [*of_pair(collection, "ende", model=MODEL), lists])
    for download in of_pair(collection, "ende", model=MODEL)[:2]:
        (folder / download.name).write_bytes(download.content)
    before = {path: path.read_bytes() for path in profile.rglob("*") if path.is_file()}
    assert recognise(profile) == ("firefox", profile)
    ours = run_import("auto", profile, "--out", tmp_path / "ours")
    theirs = run_import("firefox", folder, "--out", tmp_path / "theirs")
    assert ours.manifest.files == theirs.manifest.files
    assert (ours.manifest.source_language, ours.manifest.target_language) == ("en", "de")
    assert {path: path.read_bytes() for path in profile.rglob("*") if path.is_file()} == before


def test_the_newest_model_of_a_pair_is_read_and_the_pair_is_chosen(tmp_path: Path) -> None:
    old, new = of_pair(FIRST, "deen", "1.9"), of_pair(FIRST, "deen", "1.10", b"newer weights")
    partial = of_pair(FIRST, "enfr")[:1]
    split = [
        Download(FIRST, "model.enja.bin", "model", b"weights", ("en", "zh-Hant")),
        Download(FIRST, "srcvocab.enja.spm", "srcvocab", b"a", ("en", "zh-Hant")),
        Download(FIRST, "trgvocab.enja.spm", "trgvocab", b"b", ("en", "zh-Hant")),
    ]
    profile = write_profile(tmp_path / "x", [*new, *old, *partial, *split])
    assert [model.languages for model in models_in(profile)] == [("de", "en"), ("en", "zh-Hant")]
    model = chosen(profile, "de", None)
    assert model.size == len(b"newer weights") + len(VOCABULARY)
    write_files(model, tmp_path / "deen")
    assert (tmp_path / "deen" / "model.deen.intgemm.alphas.bin").read_bytes() == b"newer weights"
    write_files(chosen(profile, None, "zh-Hant"), tmp_path / "enja")
    assert sorted(path.name for path in (tmp_path / "enja").iterdir()) == [
        "model.enja.bin", "srcvocab.enja.spm", "trgvocab.enja.spm",
    ]  # fmt: skip
    with pytest.raises(ImportRefused, match=r"several models \(de-en, en-zh-Hant\): choose one by --source"):
        chosen(profile, None, None)
    with pytest.raises(ImportRefused, match="no model from en to fr; it has de-en, en-zh-Hant"):
        chosen(profile, "en", "fr")


def test_what_a_running_firefox_has_not_yet_moved_into_its_database_is_read(tmp_path: Path) -> None:
    profile = write_profile(tmp_path / "x", [])
    with closing(sqlite3.connect(profile / DATABASE)) as firefox:
        firefox.execute("PRAGMA journal_mode = WAL")
        other = write_profile(tmp_path / "other", of_pair(FIRST, "ende"))
        firefox.execute("ATTACH ? AS other", (str(other / DATABASE),))
        firefox.execute("INSERT OR IGNORE INTO object_data SELECT * FROM other.object_data")
        firefox.commit()
        shutil.copytree(
            (other / DATABASE).with_suffix(".files"), (profile / DATABASE).with_suffix(".files"), dirs_exist_ok=True
        )
        assert (profile / DATABASE).with_name(f"{DATABASE.name}-wal").stat().st_size > 0
        assert [model.languages for model in models_in(profile)] == [("en", "de")]


@pytest.mark.parametrize("place", PLACES)
def test_profiles_are_found_where_firefox_keeps_them(place: str, tmp_path: Path) -> None:
    profile = write_profile(
        tmp_path / place / "abc.default release", [*of_pair(FIRST, "ende"), *of_pair(FIRST, "deen")]
    )
    write_profile(tmp_path / place / "empty", [])
    damaged = write_profile(tmp_path / place / "damaged", [])
    (damaged / DATABASE).write_bytes(b"no database")
    models = find_local_models({}, tmp_path)
    assert [(model.format, model.pair, model.path) for model in models] == [
        ("firefox", "de-en", profile), ("firefox", "en-de", profile),
    ]  # fmt: skip
    assert command_for(models[1]) == f"ringmt import firefox '{profile}' --source en --target de --out MODELS/en-de"
    assert find_local_models({"APPDATA": str(tmp_path / "nothing")}, tmp_path / "nobody") == []


def damage_content(profile: Path) -> None:
    next((profile / DATABASE).with_suffix(".files").iterdir()).write_bytes(b"other")


def damage_row(profile: Path) -> None:
    with closing(sqlite3.connect(profile / DATABASE)) as connection:
        connection.execute("UPDATE object_data SET data = x'05f00000000000'")
        connection.commit()


def remove_files(profile: Path) -> None:
    shutil.rmtree((profile / DATABASE).with_suffix(".files"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_content, "has another SHA-256 than its record: let Firefox download the language again"),
        (damage_row, "has a row that cannot be read"),
        (remove_files, "has no whole translation model: download a language in Firefox"),
        (lambda profile: (profile / DATABASE).write_bytes(b"x" * 2000), "cannot be read: file is not a database"),
    ],
)
def test_damaged_profiles_are_refused(damage: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    profile = write_profile(tmp_path / "x", of_pair(FIRST, "ende")[:2])
    damage(profile)
    with pytest.raises(ImportRefused, match=message):
        write_files(chosen(profile, "en", "de"), tmp_path / "out")


@pytest.mark.parametrize("name", ["../model.bin", "a/model.bin", ".model.bin", ""])
def test_a_record_names_no_file_elsewhere(name: str, tmp_path: Path) -> None:
    model, *others = of_pair(FIRST, "ende")
    renamed = Download(FIRST, "model.ende.bin", "model", model.content, more={"name": name})
    profile = write_profile(tmp_path / "x", [renamed, *others])
    with pytest.raises(ImportRefused, match="no name of a file"):
        write_files(chosen(profile, "en", "de"), tmp_path / "out")


@needs_zstd
def test_what_is_unpacked_is_checked_too(tmp_path: Path) -> None:
    model, *others = of_pair(SECOND, "ende")
    other = {"decompressedHash": hashlib.sha256(b"other").hexdigest()}
    changed = Download(SECOND, model.name, "model", model.content, more=other)
    profile = write_profile(tmp_path / "x", [changed, *others])
    with pytest.raises(ImportRefused, match="another SHA-256"):
        write_files(chosen(profile, "en", "de"), tmp_path / "out")
