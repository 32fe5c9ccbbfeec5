"""The content of an artifact from a Marian model's files."""

from pathlib import Path

from export.artifact_writer import Content
from export.importers import ImportRefused
from export.importers.language_tokens import prefix_of
from export.importers.marian_nmt.container import MarianModel, read_model
from export.importers.marian_nmt.conventions import Embeddings, config_of, guided_layer
from export.importers.marian_nmt.files import MarianFiles
from export.importers.marian_nmt.shortlist import read_shortlist
from export.importers.marian_nmt.vocabulary import numbered, read_yml, special_ids, write_pieces
from export.importers.marian_nmt.weights import model_of
from export.importers.marian_vocabulary import read_pieces, write_vocabulary
from export.importers.shortlists import plan_of
from export.importers.subwords import Codes, moses_language, write_words
from export.onnx_graph.shortlist import ShortlistPlan
from model.alignment import AlignmentHead
from model.config import ModelConfig, SpecialIds
from server.artifact.language_tokens import LanguageTokens


def load_marian_nmt(
    files: MarianFiles,
    target: str,
    scratch: Path,
    ngram: int | None,
    max_length: int,
    language_token: str | None,
    languages: LanguageTokens | None = None,
    source_language: str = "",
) -> Content:
    """The content of the artifact; vocabularies are written into the folder `scratch`. `languages`: of a model with
    several targets, if all are kept. Raises ImportRefused and ConfigError."""
    marian = read_model(files.model)
    embeddings = Embeddings.of(marian)
    source, words = files.vocabularies
    ids = special_ids(words, embeddings.target_size)
    if source != words and special_ids(source, embeddings.target_size) != ids:
        raise ImportRefused(f"{source} and {words} have different special ids; RingMT has one set")
    if source != words and embeddings.is_shared and files.segmenters is None:
        raise ImportRefused(f"{files.model} has one vocabulary, and {source} and {words} are two")
    config = config_of(marian, ids, ngram, max_length)
    write_vocabularies(files, config, ids, scratch, (moses_language(source_language), moses_language(target)))
    at = AlignmentHead(guided_layer(files.model, marian.config, config.decoder_layers), 1) if files.is_guided else None
    is_one = source == words and files.segmenters is None
    return Content(
        model_of(marian, config),
        vocabulary=scratch / "target.model",
        origin={"imported": "marian-nmt", "name": files.model.name, "version": str(marian.config.get("version", ""))},
        shortlist=find_shortlist(files, marian, config),
        source_vocabulary=None if is_one else scratch / "source.model",
        source_prefix=() if languages else prefix_of(source_words(files), target, language_token, files.model),
        languages=languages,
        alignment=at,
        parity_on_examples=True,
    )


def write_vocabularies(
    files: MarianFiles, config: ModelConfig, ids: SpecialIds, scratch: Path, languages: tuple[str, str]
) -> None:
    """source.model and target.model. Raises ImportRefused."""
    source_words = config.source_vocab_size or config.vocab_size - 1
    sizes = (source_words, config.vocab_size - 1)
    totals = (config.source_vocab_size or config.vocab_size, config.vocab_size)
    for side, name in enumerate(("source.model", "target.model")):
        path = files.vocabularies[side]
        segmenter = None if files.segmenters is None else files.segmenters[side]
        if segmenter is None:
            write_pieces(path, sizes[side], totals[side], scratch / name)
        elif isinstance(segmenter, Codes):
            write_words(segmenter, read_yml(path), totals[side], languages[side], ids, scratch / name)
        else:
            write_vocabulary(numbered(path, segmenter, totals[side]), ids, scratch / name)


def find_shortlist(files: MarianFiles, marian: MarianModel, config: ModelConfig) -> ShortlistPlan | None:
    if files.shortlist is None:
        return None
    embeddings = Embeddings.of(marian)
    return plan_of(read_shortlist(files.shortlist, embeddings.source_size, embeddings.target_size), config)


def source_words(files: MarianFiles) -> dict[str, int]:
    """The words of the source and their ids. Raises ImportRefused."""
    path = files.vocabularies[0]
    return read_yml(path) if files.segmenters else {p.piece: i for i, p in enumerate(read_pieces(path).pieces)}
