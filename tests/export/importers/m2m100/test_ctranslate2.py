"""M2M-100 and NLLB-200 that CTranslate2 converted become artifacts that translate as CTranslate2 does."""

import argparse
import json
from pathlib import Path

import ctranslate2
import pytest
import sentencepiece
from ctranslate2.converters import TransformersConverter

from export.import_command import import_command
from export.importers import ImportRefused
from server.artifact.artifact import Artifact
from server.backends.load import load_backend
from server.engine.request import SearchOptions
from server.engine.synchronous import Source, translate_now
from server.translation.loaded_model import open_vocabularies
from tests.m2m100 import Shape, trained, write_m2m100
from tests.models import SENTENCES

LONGEST = 14
PAIRS: tuple[tuple[str, str], ...] = (("en", "de"), ("de", "zh-Hant"), ("zh", "en"))
M2M_NAMES = {"deu_Latn": "__de__", "eng_Latn": "__en__", "fra_Latn": "__fr__", "zho_Hans": "__zh__"}
NLLB_NAMES = {"de": "deu_Latn", "en": "eng_Latn", "fr": "fra_Latn", "zh": "zho_Hans", "zh-Hant": "zho_Hant"}


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ctranslate2")
    write_m2m100(folder / "checkpoint", Shape(nllb=True, eos_bonus=0.5))
    converter = TransformersConverter(str(folder / "checkpoint"), copy_files=["sentencepiece.bpe.model"])
    converter.convert(str(folder / "converted"))
    return folder / "converted"


def run_import(folder: Path, out: Path, *options: str) -> Artifact:
    parser = argparse.ArgumentParser()
    import_command.add_arguments(parser)
    arguments = ["auto", str(folder), "--out", str(out), "--graphs", "onnx-fp32", "--max-length", "48", *options]
    assert import_command.run(parser.parse_args(arguments)) == 0
    return Artifact.load(out)


@pytest.mark.parametrize("m2m", [False, True])
def test_all_pairs_in_one_batch_are_translated_as_by_ctranslate2(converted: Path, tmp_path: Path, m2m: bool) -> None:
    names, pairs, options = NLLB_NAMES, PAIRS, list[str]()
    vocabulary = converted / "shared_vocabulary.json"
    if m2m:  # the same model with the words of M2M-100
        words = json.loads(vocabulary.read_text())
        names, pairs, options = {name[2:-2]: name for name in M2M_NAMES.values()}, PAIRS[:1], ["--languages", "de,en"]
        folder = tmp_path / "converted"
        folder.mkdir()
        for path in converted.iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        vocabulary = folder / "shared_vocabulary.json"
        vocabulary.write_text(json.dumps([M2M_NAMES.get(word, word) for word in words]))
    artifact = run_import(vocabulary.parent, tmp_path / "out", *options)
    languages = artifact.manifest.languages
    assert languages is not None
    assert {*languages.sources} == {*languages.targets} == ({"de", "en"} if m2m else {"ace-Arab", *names})
    theirs = ctranslate2.Translator(str(vocabulary.parent), compute_type="float32", intra_threads=1)
    backend, (pieces, _) = load_backend(artifact, "onnx", "fp32"), open_vocabularies(artifact)
    cut = sentencepiece.SentencePieceProcessor(model_proto=trained())
    batch = [(text, pairs[number % len(pairs)]) for number, text in enumerate(SENTENCES)]
    sources = [Source(pieces.in_language(pair[0], languages.prefix(*pair)).encode([text])[0]) for text, pair in batch]
    read = [[names[source], *cut.encode(text, out_type=str), "</s>"] for text, (source, _) in batch]
    words = json.loads(vocabulary.read_text())
    for beam in (1, 4):
        results = theirs.translate_batch(
            read, target_prefix=[[names[target]] for _, (_, target) in batch], beam_size=beam,
            max_decoding_length=LONGEST + 1, min_decoding_length=0, return_scores=True, length_penalty=1.0,
            suppress_sequences=[["<unk>"], ["<pad>"]],
        )  # fmt: skip
        compared = 0
        for ours, result in zip(
            translate_now(backend, sources, SearchOptions(beam, beam, 1.0, LONGEST)), results, strict=True
        ):
            ids = tuple(map(words.index, result.hypotheses[0]))[1:]
            # CTranslate2 never ends right behind a prefix, and ranks hypotheses that are cut otherwise.
            if beam == 1 or (len(ids) < LONGEST and all(each.ids for each in ours.hypotheses)):
                assert ours.hypotheses[0].ids == ids
                score = result.scores[0]
                assert ours.hypotheses[0].normalized_score == pytest.approx(score, abs=1e-4) or beam == 1
                compared += 1
        assert compared > 2


def test_a_language_that_the_model_lacks_is_refused(converted: Path, tmp_path: Path) -> None:
    for options, message in (
        (("--languages", "de,it"), "has no language 'it'; it has ace-Arab, de, en, fr, zh, zh-Hant"),
        (("--languages", "de"), "one language is no pair"),
        (("--source", "de", "--target", "de"), "one language is no pair"),
        (("--language-token", "deu_Latn"), "--language-token is for Marian's models"),
    ):
        with pytest.raises(ImportRefused, match=message):
            run_import(converted, tmp_path / "out", *options)
