"""Models as they lie on disks: packed file by file, in the Hub's cache, in archives, cut short, beside other files."""

import gzip
import json
import re
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from export.importers import ImportRefused
from export.importers.archives import plain_name
from export.importers.argos.package import open_package
from export.importers.ctranslate2.folder import SHARED_SPM
from export.importers.local_path import whole_folder
from export.importers.marian_nmt.files import languages_in
from export.importers.marian_vocabulary import PROTO
from export.importers.recognise import recognise
from export.importers.unfinished import PARTIAL
from export.local_models import described
from tests.export.importers.ctranslate2.make_models import write_zip
from tests.export.importers.made import DATA, MAKERS, PICKLED, SAFE, loaded

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 298000000\n" % (b"a" * 64)
NEEDED = {
    "marian": (SAFE, "config.json", "vocab.json", "source.spm", "target.spm"),
    "pickled": (PICKLED,),
    "m2m100": (SAFE, "sentencepiece.bpe.model"),
    "ctranslate2": ("model.bin", "shared_vocabulary.json", "source.spm"),
    "argos": ("metadata.json", "model/model.bin", "sentencepiece.model"),
    "firefox": ("model.ende.intgemm.alphas.bin", "vocab.ende.spm"),
    "marian_nmt": ("model.npz", "srcvocab.spm", "trgvocab.spm"),
}


@cache
def made(name: str) -> Path:
    folder = Path(tempfile.mkdtemp()) / name
    MAKERS[name](folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _removed() -> object:
    yield
    for name in MAKERS:
        shutil.rmtree(made(name).parent, ignore_errors=True)
    made.cache_clear()


def weights(path: Path) -> dict[str, torch.Tensor]:
    return dict(loaded(path).model.state_dict())


def same(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_a_file_that_is_not_whole_is_named(name: str, data: st.DataObject) -> None:
    """Cut anywhere, empty, or a pointer of Git LFS."""
    file = data.draw(st.sampled_from(NEEDED[name]))
    content = (made(name) / file).read_bytes()
    cut = data.draw(st.one_of(st.integers(0, len(content) - 1), st.none()), label="bytes that are there")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(shutil.copytree(made(name), Path(scratch) / "model"))
        (folder / file).write_bytes(POINTER if cut is None else content[:cut])
        read, message = dict[str, torch.Tensor](), ""
        try:
            read = weights(folder)
        except ImportRefused as error:
            message = str(error)
    if message:
        assert Path(file).name in message
        assert cut is not None or file not in (SAFE, PICKLED) or "git lfs pull" in message
    else:  # such as a line feed that ends a file
        assert file.endswith(".json")
        assert same(read, weights(made(name)))


@pytest.mark.parametrize(
    ("name", "file"), [(name, file) for name in MAKERS for file in NEEDED[name] if file.endswith((".spm", ".model"))]
)
@pytest.mark.parametrize("last", ["a piece", "the pieces", "trainer_spec"])
def test_pieces_that_are_cut_between_two_fields_are_named(name: str, file: str, last: str, tmp_path: Path) -> None:
    """What is left is a valid message: such a cut is no error to protobuf."""
    content = (made(name) / file).read_bytes()
    model = PROTO.ModelProto.FromString(content)
    for field in ("normalizer_spec", "denormalizer_spec"):
        model.ClearField(field)
    if last != "trainer_spec":
        model.ClearField("trainer_spec")
    if last == "a piece":
        del model.pieces[len(model.pieces) // 2 :]
    cut = model.SerializeToString()
    assert content.startswith(cut)
    folder = Path(shutil.copytree(made(name), tmp_path / "model"))
    (folder / file).write_bytes(cut)
    with pytest.raises(ImportRefused, match=re.escape(Path(file).name) + " is not whole"):
        weights(folder)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("end", PARTIAL)
def test_a_download_that_has_not_ended_is_named(name: str, end: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made(name), tmp_path / "model"))
    file = folder / NEEDED[name][0]
    file.rename(f"{file}{end}")
    with pytest.raises(ImportRefused, match=rf"{file.name}"):
        loaded(folder)
    with pytest.raises(ImportRefused, match="not downloaded to its end"):
        recognise(Path(f"{file}{end}"))


@settings(max_examples=12, deadline=None)
@given(
    split=st.booleans(),
    pair=st.sampled_from(["ende", "deen", "enzh"]),
    kind=st.sampled_from([".intgemm.alphas", ".intgemm8", ""]),
    packed=st.lists(st.booleans(), min_size=3, max_size=3),
    metadata=st.booleans(),
    size=st.sampled_from(["", ".tiny", ".base"]),
)
def test_folders_of_mozilla_are_read_packed_or_not(
    split: bool, pair: str, kind: str, packed: list[bool], metadata: bool, size: str
) -> None:
    """The bucket has every file packed, beside a metadata.json, which Argos' packages have, too."""
    files = {f"model{size}.{pair}{kind}.bin": "untied.npz" if split else "student.bin"}
    names = ("srcvocab", "trgvocab") if split else ("vocab",)
    files |= {f"{name}.{pair}.spm": f"{name}.spm" for name in names}
    if split:
        files = {name.replace(".bin", ".npz"): source for name, source in files.items()}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "model"
        folder.mkdir()
        for is_packed, (name, source) in zip(packed, files.items(), strict=False):
            content = (DATA / source).read_bytes()
            path = folder / (f"{name}.gz" if is_packed else name)
            path.write_bytes(gzip.compress(content) if is_packed else content)
        if metadata:
            (folder / "metadata.json").write_text(json.dumps({"architecture": "tiny"}), encoding="utf-8")
        assert languages_in(folder) == (pair[:2], pair[2:])
        model = described(folder)
        assert (model.format, model.path, model.pair) == ("firefox", folder, f"{pair[:2]}-{pair[2:]}")
        whole = whole_folder(folder, Path(scratch))
        assert {*files} <= {path.name for path in whole.iterdir()}
        assert recognise(whole) == ("firefox", whole)
        assert all((whole / name).read_bytes() == (DATA / source).read_bytes() for name, source in files.items())
        if split or pair != "ende":
            return
        assert same(weights(folder), weights(made("firefox")))


@pytest.mark.parametrize(
    "name", ["model.tiny.bin", "model.base.bin", "model.npz.best.bin", "model.main.npz", "model.bin"]
)
def test_the_size_of_a_model_is_no_pair_of_languages(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    (tmp_path / "vocab.spm").touch()
    assert languages_in(tmp_path) == (None, None)
    (tmp_path / "lex.50.50.deen.s2t.bin.gz").touch()
    assert languages_in(tmp_path) == ("de", "en")
    (tmp_path / "lex.50.50.deen.s2t.bin").touch()
    (tmp_path / "lex.50.50.defr.s2t.bin").touch()
    assert languages_in(tmp_path) == (None, None)


@pytest.mark.parametrize("kind", ["marian", "pickled", "m2m100"])
def test_the_cache_of_the_hub_is_read(kind: str, tmp_path: Path) -> None:
    model = tmp_path / "models--Someone--opus-mt-en-de"
    for number, commit in enumerate(("aaaa", "bbbb")):
        (model / "snapshots" / commit).mkdir(parents=True)
        for path in made(kind).iterdir():
            blob = model / "blobs" / f"{number}{path.name.encode().hex()}"
            blob.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, blob)
            (model / "snapshots" / commit / path.name).symlink_to(Path("..") / ".." / "blobs" / blob.name)
        if number == 0:
            assert same(weights(model), weights(made(kind)))  # the only one
    with pytest.raises(ImportRefused, match=r"several snapshots \(aaaa, bbbb\): name one"):
        recognise(model)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("bbbb", encoding="utf-8")
    assert recognise(model)[1] == model / "snapshots" / "bbbb"
    assert same(weights(model / "snapshots" / "bbbb"), weights(made(kind)))
    file = model / "snapshots" / "bbbb" / NEEDED[kind][0]
    file.resolve().rename(f"{file.resolve()}.incomplete")
    with pytest.raises(ImportRefused, match="download the whole checkpoint"):
        loaded(model)


def test_weights_in_several_files_are_read_with_their_index(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(made("marian"), tmp_path / "model"))
    tensors = load_file(folder / SAFE)
    (folder / SAFE).unlink()
    names = {name: f"model-0000{number % 2 + 1}-of-00002.safetensors" for number, name in enumerate(tensors)}
    for file in {*names.values()}:
        save_file({name: tensor for name, tensor in tensors.items() if names[name] == file}, folder / file)
    (folder / f"{SAFE}.index.json").write_text(json.dumps({"weight_map": names}), encoding="utf-8")
    assert same(weights(folder), weights(made("marian")))
    (folder / "model-00002-of-00002.safetensors").rename(folder / "model-00002-of-00002.safetensors.part")
    with pytest.raises(ImportRefused, match=r"lists model-00002-of-00002\.safetensors, which is not beside it"):
        loaded(folder)


@pytest.mark.parametrize("inside", ["", "opus-2020-02-26/"])
def test_a_zip_of_opus_mt_is_read_as_it_is(inside: str, tmp_path: Path) -> None:
    """With its scripts, and a second file of weights that its decoder.yml does not name."""
    weights_name = "opus.spm32k-spm32k.transformer.model1.npz.best-perplexity.npz"
    path = tmp_path / "opus-2020-02-26.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for side in ("src", "trg"):
            archive.write(DATA / f"{side}vocab.spm", f"{inside}opus.{side}.spm")
        archive.write(DATA / "untied.npz", f"{inside}{weights_name}")
        archive.write(DATA / "attention.npz", f"{inside}opus.model2.npz")
        config = (
            f"models:\n- {weights_name}\nvocabs: [opus.src.spm, opus.trg.spm]\nrelative-paths: true\nnormalize: 0.6\n"
        )
        for name, text in {
            "decoder.yml": config, "README.md": "", "LICENSE": "", "preprocess.sh": "", "postprocess.sh": "",
        }.items():  # fmt: skip
            archive.writestr(f"{inside}{name}", text)
    assert same(weights(path), weights(made("marian_nmt")))
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    (folder / inside / "source.tcmodel").touch()
    with pytest.raises(ImportRefused, match=r"source\.tcmodel: text is truecased"):
        loaded(folder / inside)


@pytest.mark.parametrize("name", [*SHARED_SPM, "bpe.model"])
def test_packages_have_their_sentencepiece_model_under_other_names(name: str, tmp_path: Path) -> None:
    """Installed, and as they are downloaded."""
    folder = Path(shutil.copytree(made("argos"), tmp_path / "translate-en_de"))
    (folder / "sentencepiece.model").rename(folder / name)
    package = write_zip(folder, tmp_path / "translate-en_de.argosmodel")
    for path in (folder, package):
        assert same(weights(path), weights(made("argos")))


@pytest.mark.parametrize(
    "metadata", [{}, {"from_code": "en"}, {"from_code": "en", "to_code": ["de", "fr"]}, {"languages": [{"code": "en"}]}]
)
def test_packages_without_one_pair_are_refused(metadata: dict[str, object], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made("argos"), tmp_path / "package"))
    (folder / "metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    with pytest.raises(ImportRefused, match=r"has no from_code and to_code: packages of one pair"):
        open_package(folder, tmp_path)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("a.bin.gz", "a.bin"),
        ("a.spm.ZST", "a.spm"),
        ("a.tar.gz", "a.tar.gz"),
        ("a.tgz", "a.tgz"),
        (".gz", ""),
        ("a", "a"),
    ],
)
def test_the_plain_name_of_a_packed_file(name: str, plain: str) -> None:
    assert plain_name(name) == plain
