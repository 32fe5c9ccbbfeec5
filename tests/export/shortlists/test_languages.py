"""The shortlist of a model of many languages is learnt from translations into all of them."""

import argparse
from pathlib import Path

import pytest

from export.import_command import import_command
from export.shortlists.learn import learn
from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError, Shortlist
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from tests import m2m100
from tests.export.shortlists.test_command import run
from tests.models import SENTENCES
from tests.server.engine.runs import translate


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    with pytest.MonkeyPatch.context() as patch:  # more words than a list has
        patch.setattr(m2m100, "PIECES", 200)
        patch.setattr(m2m100, "trained", m2m100.trained.__wrapped__)
        m2m100.write_m2m100(folder / "checkpoint", m2m100.Shape(nllb=True, eos_bonus=0.5))
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    arguments = ["m2m100", str(folder / "checkpoint"), "--out", str(folder / "out"), "--graphs", "onnx-fp32"]
    assert import_command.run(parser.parse_args([*arguments, "--max-length", "24", "--languages", "de,fr,en"])) == 0
    return folder / "out"


def test_a_model_that_is_never_sure_translates_all_pairs_as_without_its_list(many: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("\n".join(SENTENCES[:4]), encoding="utf-8")
    options = ("--sizes", "64+64", "--min-confidence", "1,1")
    run(many, "--text", text, "--source", "en", "--out", tmp_path / "out", *options)
    artifact = Artifact.load(tmp_path / "out")
    languages, shortlist = artifact.manifest.languages, artifact.manifest.shortlist
    assert isinstance(shortlist, Shortlist)
    assert languages is not None
    sources = [
        (*languages.prefix(source, target), 20, 30, 40, artifact.manifest.special_ids.eos)
        for source, target in (("en", "de"), ("de", "fr"), ("fr", "en"))
    ]
    listed, plain = (
        translate(load_backend(artifact, "onnx", "fp32", use), sources, SearchOptions(4, max_length=12))
        for use in ("on", "off")
    )
    for ours, theirs in zip(listed, plain, strict=True):
        assert ours.hypotheses[0].ids == theirs.hypotheses[0].ids


def test_every_target_is_counted_and_no_token_that_the_decoder_reads(many: Path) -> None:
    artifact = Artifact.load(many)
    languages = artifact.manifest.languages
    assert languages is not None
    counts = learn(artifact, load_backend(artifact, "onnx", "fp32", "off"), SENTENCES[:2], "en")
    (own,) = languages.sources["en"]
    assert counts.in_text[own] == 2
    assert counts.seen[own] >= 2 * 2  # into German and into French
    assert not any(counts.in_text[token] for code, (token,) in languages.targets.items() if code != "en")
    with pytest.raises(ArtifactError, match="does not translate 'pl': --source names the text's"):
        learn(artifact, load_backend(artifact, "onnx", "fp32", "off"), SENTENCES[:2], "pl")
