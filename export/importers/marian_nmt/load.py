"""The content of an artifact from a Marian model's files."""

from pathlib import Path

from export.artifact_writer import Content
from export.importers import ImportRefused
from export.importers.marian_nmt.container import MarianModel, read_model
from export.importers.marian_nmt.conventions import Embeddings, config_of, guided_layer
from export.importers.marian_nmt.files import MarianFiles
from export.importers.marian_nmt.shortlist import plan_of, read_shortlist
from export.importers.marian_nmt.vocabulary import numbered, read_pieces, read_yml, special_ids, write_pieces
from export.importers.marian_nmt.weights import model_of
from export.importers.marian_vocabulary import write_vocabulary
from export.onnx_graph.shortlist import ShortlistPlan
from model.alignment import AlignmentHead
from model.config import ModelConfig, SpecialIds


def load_marian_nmt(
    files: MarianFiles, target: str, scratch: Path, ngram: int | None, max_length: int, language_token: str | None
) -> Content:
    """The content of the artifact; vocabularies are written into the folder `scratch`. Raises ImportRefused and
    ConfigError."""
    marian = read_model(files.model)
    embeddings = Embeddings.of(marian)
    source, words = files.vocabularies
    ids = special_ids(words, embeddings.target_size)
    if source != words and special_ids(source, embeddings.target_size) != ids:
        raise ImportRefused(f"{source} and {words} have different special ids; RingMT has one set")
    if source != words and embeddings.is_shared and files.segmenters is None:
        raise ImportRefused(f"{files.model} has one vocabulary, and {source} and {words} are two")
    config = config_of(marian, ids, ngram, max_length)
    write_vocabularies(files, config, ids, scratch)
    at = AlignmentHead(guided_layer(files.model, marian.config, config.decoder_layers), 1) if files.is_guided else None
    is_one = source == words and files.segmenters is None
    return Content(
        model_of(marian, config),
        vocabulary=scratch / "target.model",
        origin={"imported": "marian-nmt", "name": files.model.name, "version": str(marian.config.get("version", ""))},
        shortlist=find_shortlist(files, marian, config),
        source_vocabulary=None if is_one else scratch / "source.model",
        source_prefix=prefix_of(files, target, language_token),
        alignment=at,
        parity_on_examples=True,
    )


def write_vocabularies(files: MarianFiles, config: ModelConfig, ids: SpecialIds, scratch: Path) -> None:
    """source.model and target.model. Raises ImportRefused."""
    source_words = config.source_vocab_size or config.vocab_size - 1
    sizes = (source_words, config.vocab_size - 1)
    totals = (config.source_vocab_size or config.vocab_size, config.vocab_size)
    for side, name in enumerate(("source.model", "target.model")):
        path = files.vocabularies[side]
        if files.segmenters is None:
            write_pieces(path, sizes[side], totals[side], scratch / name)
        else:
            write_vocabulary(numbered(path, files.segmenters[side], totals[side]), ids, scratch / name)


def find_shortlist(files: MarianFiles, marian: MarianModel, config: ModelConfig) -> ShortlistPlan | None:
    if files.shortlist is None:
        return None
    embeddings = Embeddings.of(marian)
    return plan_of(read_shortlist(files.shortlist, embeddings.source_size, embeddings.target_size), config)


def prefix_of(files: MarianFiles, target: str, requested: str | None) -> tuple[int, ...]:
    """The ids before every source, in a model of several targets: `requested` names a language token, or "none";
    without it the token of the target language is taken. Raises ImportRefused where a choice is needed."""
    path = files.vocabularies[0]
    pieces = read_yml(path) if files.segmenters else {p.piece: i for i, p in enumerate(read_pieces(path).pieces)}
    tokens = {text[2:-2]: index for text, index in pieces.items() if text.startswith(">>") and text.endswith("<<")}
    if requested == "none" or not (tokens or requested):
        return ()
    wanted = requested.removeprefix(">>").removesuffix("<<") if requested else target
    if wanted in tokens:
        return (tokens[wanted],)
    some = ", ".join(sorted(tokens)[:20]) + (", ..." if len(tokens) > 20 else "")
    raise ImportRefused(
        f"{files.model} has no language token {wanted}: choose one by --language-token, among {some or 'none'}, or none"
    )
