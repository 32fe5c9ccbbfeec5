"""MarianMT and OPUS-MT checkpoints, as `transformers` keeps them in a folder (Junczys-Dowmunt et al. 2018)."""

from dataclasses import dataclass
from pathlib import Path

from export.artifact_writer import Content
from export.importers import ImportRefused
from export.importers.json_files import read_object
from export.importers.language_tokens import prefix_of
from export.importers.marian_vocabulary import Numbered, write_vocabulary
from export.importers.marian_weights import is_tied, model_of
from export.importers.transformers_folder import CONFIG, TransformersFolder, forces_eos, read_weights, unwanted_words
from model.config import ModelConfig
from server.artifact.language_tokens import LanguageTokens

VOCABULARY, TARGET_VOCABULARY, SOURCE_SPM, TARGET_SPM = "vocab.json", "target_vocab.json", "source.spm", "target.spm"
ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
UNUSUAL = {
    "normalize_before": "norms before the sub-layers",
    "normalize_embedding": "a norm after the embedding",
    "add_final_layer_norm": "a norm after the last layer",
}
"""Keys of config.json that a MarianMT model never sets -> their meaning."""
UNKNOWN = "<unk>"


@dataclass(frozen=True)
class MarianFolder(TransformersFolder):
    """A folder of MarianMT."""

    @classmethod
    def open(cls, path: Path) -> "MarianFolder":
        """Raises ImportRefused for a folder that holds no MarianMT checkpoint."""
        return cls.read(path, "marian")

    @property
    def shares_embeddings(self) -> bool:
        return bool(self.config.get("share_encoder_decoder_embeddings", True))

    @property
    def target_size(self) -> int:
        shared = self.shares_embeddings
        return int(self.config["vocab_size"] if shared else self.config.get("decoder_vocab_size") or self.source_size)

    def language(self, side: str) -> str | None:
        """The code of "source" or "target", where the folder says it."""
        return self.tokenizer.get(f"{side}_lang")

    @property
    def source_size(self) -> int:
        return int(self.config["vocab_size"])

    def vocabularies(self) -> tuple[Numbered, Numbered]:
        """The vocabularies of the source and of the target."""
        source = read_object(self.path / VOCABULARY)
        target = source
        if self.tokenizer.get("separate_vocabs", False):
            target = read_object(self.path / TARGET_VOCABULARY)
        return (
            Numbered(self.path / SOURCE_SPM, source, self.source_size),
            Numbered(self.path / TARGET_SPM, target, self.target_size),
        )


def config_of(folder: MarianFolder, unknown: int, tied: bool, ngram: int | None, max_length: int) -> ModelConfig:
    """The model's configuration. Raises ImportRefused for what RingMT's models do not support, ConfigError for what is
    invalid."""
    theirs = folder.config
    for key, meaning in UNUSUAL.items():
        if theirs.get(key):
            raise ImportRefused(f"{folder.path / CONFIG}: {key} ({meaning}) is not what MarianMT computes")
    if theirs.get("static_position_embeddings") is False:
        raise ImportRefused(f"{folder.path / CONFIG}: learned positions; RingMT has sinusoids only")
    shares = folder.shares_embeddings
    return ModelConfig(
        vocab_size=folder.target_size,
        d_model=folder.number("d_model"),
        num_heads=folder.same_number("attention_heads"),
        ffn_dim=folder.same_number("ffn_dim"),
        encoder_layers=folder.number("encoder_layers"),
        decoder_layers=folder.number("decoder_layers"),
        ngram=ngram,
        max_length=min(folder.number("max_position_embeddings"), max_length),
        dropout=0.0,
        norm="after",
        activation=folder.activation(ACTIVATIONS),
        scaled_embedding=bool(theirs.get("scale_embedding", False)),
        source_embedding="shared" if shares else "separate",
        source_vocab_size=None if shares else folder.source_size,
        tied_output=tied,
        output_bias=True,
        pad_id=folder.number("pad_token_id"),
        unk_id=unknown,
        bos_id=folder.number("decoder_start_token_id"),
        eos_id=folder.number("eos_token_id"),
    )


def load_marian(
    folder: MarianFolder,
    target: str,
    scratch: Path,
    ngram: int | None,
    max_length: int,
    language_token: str | None = None,
    languages: LanguageTokens | None = None,
) -> Content:
    """The content of the artifact; vocabularies are written into the folder `scratch`. `languages`: of a model with
    several targets, if all are kept. Raises ImportRefused and ConfigError."""
    source, words = folder.vocabularies()
    unknown, eos = source.ids.get(UNKNOWN), folder.number("eos_token_id")
    if unknown is None:
        raise ImportRefused(f"{folder.path / VOCABULARY} has no {UNKNOWN}")
    weights = read_weights(folder.path)
    tied = is_tied(weights, bool(folder.config.get("tie_word_embeddings", True)))
    config = config_of(folder, unknown, tied, ngram, max_length)
    for numbered, name in ((source, "source.model"), (words, "target.model")):
        if numbered.ids.get(UNKNOWN) != unknown or eos not in numbered.ids.values():
            raise ImportRefused(f"{folder.path}: source and target have different special ids; RingMT has one set")
        write_vocabulary(numbered, config.ids, scratch / name)
    return Content(
        model_of(weights, config, unwanted_words(folder), folder.path),
        vocabulary=scratch / "target.model",
        origin={"imported": "marian", "name": folder.path.resolve().name},
        source_vocabulary=scratch / "source.model",
        source_prefix=() if languages else prefix_of(source.ids, target, language_token, folder.path),
        languages=languages,
        forced_eos=forces_eos(folder, eos),
        parity_on_examples=True,
    )
