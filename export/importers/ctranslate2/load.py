"""The content of an artifact from a folder of CTranslate2."""

from pathlib import Path
from typing import Any

from export.artifact_writer import Content
from export.importers.ctranslate2.conventions import alignment_of, check_supported, config_of, starts_from_zero
from export.importers.ctranslate2.folder import ModelFolder
from export.importers.ctranslate2.shortlist import find_plan
from export.importers.ctranslate2.vocabulary import Words
from export.importers.ctranslate2.weights import model_of
from export.importers.language_tokens import prefix_of
from export.importers.marian_vocabulary import Numbered, write_vocabulary
from export.importers.subwords import Codes, moses_language, write_words
from model.config import ModelConfig
from server.artifact.language_tokens import LanguageTokens


def load_ctranslate2(
    folder: ModelFolder,
    target: str,
    scratch: Path,
    ngram: int | None,
    max_length: int,
    language_token: str | None,
    languages: LanguageTokens | None = None,
    origin: dict[str, Any] | None = None,
) -> Content:
    """The content of the artifact; vocabularies are written into the folder `scratch`. `languages`: of a model of many,
    or with several targets, if all are kept. Raises ImportRefused and ConfigError."""
    check_supported(folder)
    variables = folder.variables
    words = Words.of(folder, starts_from_zero(variables))
    config = config_of(folder, words, ngram, max_length)
    model = model_of(variables, words, config)
    called = (folder.languages[0] or "", folder.languages[1] or moses_language(target))
    write_vocabularies(folder, words, config, scratch, called)
    first = (words.source[folder.conventions.bos],) if folder.conventions.has_source_bos else ()
    plan = None if folder.shortlist is None else find_plan(folder.shortlist, words, config)
    return Content(
        model,
        vocabulary=scratch / "target.model",
        origin={"imported": "ctranslate2", "name": folder.path.resolve().name, **(origin or {})},
        shortlist=plan,
        source_vocabulary=scratch / "source.model",
        source_prefix=() if languages else (*first, *prefix_of(words.source, target, language_token, folder.path)),
        languages=languages,
        alignment=alignment_of(variables, config),
        parity_on_examples=True,
    )


def write_vocabularies(
    folder: ModelFolder, words: Words, config: ModelConfig, scratch: Path, languages: tuple[str, str]
) -> None:
    """source.model and target.model. Raises ImportRefused."""
    sizes = (config.source_vocab_size or config.vocab_size, config.vocab_size)
    for segmenter, ids, size, language, name in zip(
        folder.segmenters, (words.source, words.target), sizes, languages, ("source.model", "target.model"), strict=True
    ):
        if isinstance(segmenter, Codes):
            write_words(segmenter, ids, size, language, config.ids, scratch / name)
        else:
            write_vocabulary(Numbered(segmenter, ids, size, folder.many_tokens), config.ids, scratch / name)
