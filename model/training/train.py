"""Training of a sentence model: recipe and data folder in, checkpoint folder out."""

import random
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.config import PAD_ID, ConfigError, reject_unknown_keys
from model.data.batching import Batch, Pair, batches_by_tokens, collate, epoch_batches, epoch_items
from model.data.corpus import data_hash, read_corpus
from model.data.vocabulary import Vocabulary, train_vocabulary
from model.training.checkpoint import (
    VOCABULARY,
    WEIGHTS,
    AnyModel,
    find_base,
    find_vocabulary,
    load_weights,
    new_model,
    refuse_imported,
    save_model,
)
from model.training.guided import SureLinks, alignment_loss, lexicon_of
from model.training.loss import projected_cross_entropy
from model.training.new_vocabulary import transfer_embedding
from model.training.recipe import DataRecipe, Recipe
from model.training.run import TrainingRun
from model.training.subword_sampling import SampledSources
from model.translation_model import TranslationModel


@dataclass(frozen=True)
class TrainingText:
    """Encoded corpora: training pairs by corpus, dev pairs by corpus."""

    train: dict[str, list[Pair]]
    dev: dict[str, list[Pair]]


def prepare_vocabulary(recipe: DataRecipe, data: Path, out: Path, start: Path | None) -> Vocabulary:
    """The vocabulary of the checkpoint `start`; without `start`, or with `vocab_anew`, a SentencePiece model trained on
    both sides of the corpora. A vocabulary that `out` already holds is kept."""
    path = out / VOCABULARY
    if not path.is_file() and start is not None and not recipe.vocab_anew:
        shutil.copyfile(start / VOCABULARY, path)
    elif not path.is_file():
        sentences: list[str] = []
        for name, passes in recipe.corpora.items():
            pairs = read_corpus(data, name, recipe.source, recipe.target)
            random.Random(name).shuffle(pairs)
            for pair in pairs[: round(len(pairs) * min(passes, 1))]:
                sentences += (pair.source, pair.target)
        random.Random(0).shuffle(sentences)
        train_vocabulary(sentences[: recipe.vocab_sentences], recipe.vocab_size, path, recipe.vocab_kind)
    return Vocabulary(path)


def encode_corpus(recipe: DataRecipe, data: Path, name: str, vocabulary: Vocabulary, limit: int | None) -> list[Pair]:
    pairs = read_corpus(data, name, recipe.source, recipe.target)[:limit]
    source = vocabulary.encode([pair.source for pair in pairs])
    target = vocabulary.encode([pair.target for pair in pairs])
    encoded = [Pair(s, t) for s, t in zip(source, target, strict=True)]
    return [p for p in encoded if 0 < max(len(p.source), len(p.target)) <= recipe.max_pair_length]


def load_text(recipe: DataRecipe, data: Path, vocabulary: Vocabulary) -> TrainingText:
    return TrainingText(
        train={name: encode_corpus(recipe, data, name, vocabulary, None) for name in recipe.corpora},
        dev={name: encode_corpus(recipe, data, name, vocabulary, limit) for name, limit in recipe.dev.items()},
    )


def find_start(name: str) -> Path:
    """The checkpoint folder that a recipe's `start` means. Raises ConfigError where there is none with weights, and for
    an imported model."""
    folder = find_base(name)
    refuse_imported(folder)
    if not (folder / WEIGHTS).is_file():
        raise ConfigError(
            f"{folder} has the record of '{name}', but its weights are missing: unpack them from an artifact "
            f"(ringmt unpack ARTIFACT {name}), or train it"
        )
    return folder


def initialize_from(model: AnyModel, start: Path, anew: tuple[str, ...]) -> None:
    """Load the weights of the checkpoint `start` into `model`, except for the parts `anew`. Raises ConfigError
    where the model has no such part or another shape."""
    reject_unknown_keys(anew, [name for name, _ in model.named_children()], "the recipe's 'anew'")
    fresh = {name: weight.clone() for name, weight in model.state_dict().items() if name.partition(".")[0] in anew}
    load_weights(model, start)
    model.load_state_dict(fresh, strict=False)


def batch_loss(model: AnyModel, batch: Batch, smoothing: float) -> tuple[Tensor, Tensor]:
    """(smoothed loss, nll), each summed over the batch's target tokens."""
    return hidden_loss(model, model.hidden(batch.source, batch.source_keep, batch.target_in), batch, smoothing)


def hidden_loss(model: AnyModel, hidden: Tensor, batch: Batch, smoothing: float) -> tuple[Tensor, Tensor]:
    """`batch_loss` of the last states, [batch, target, d]."""
    wanted = batch.target_out != PAD_ID
    return projected_cross_entropy(
        hidden[wanted], model.embedding.unbiased_projection(), batch.target_out[wanted], smoothing
    )


def guided_loss(
    model: TranslationModel, batch: Batch, smoothing: float, links: SureLinks, share: float
) -> tuple[Tensor, Tensor]:
    """`batch_loss` plus the guided alignment loss times `share`."""
    cross = model.decoder.project_source(model.encode(batch.source, batch.source_keep))
    hidden = model.decoder_output_from(batch.target_in, cross, batch.source_keep).state
    loss, nll = hidden_loss(model, hidden, batch, smoothing)
    return loss + share * alignment_loss(model, batch, cross, links), nll


@torch.no_grad()
def dev_nll(model: AnyModel, pairs: list[Pair], device: torch.device) -> float:
    """Mean negative log-likelihood per target token (EOS included), nats."""
    model.eval()
    total, tokens = 0.0, 0
    for group in batches_by_tokens(sorted(pairs, key=lambda pair: len(pair.target)), 4096):
        batch = collate(group).to(device)
        total += float(batch_loss(model, batch, 0.0)[1])
        tokens += batch.num_target_tokens
    model.train()
    return total / tokens


class Training(TrainingRun[list[Pair]]):
    """One run of a sentence model; an update learns from one batch of pairs."""

    def __init__(self, recipe: Recipe, data: Path, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.recipe = recipe
        start = find_start(recipe.start) if recipe.start else None
        vocabulary = prepare_vocabulary(recipe.data, data, out, start)
        if len(vocabulary) != recipe.model.vocab_size:
            raise ConfigError(
                f"{vocabulary.path} has {len(vocabulary)} pieces, the recipe says {recipe.model.vocab_size}"
            )
        self.drawn = SampledSources(recipe.data, vocabulary, recipe.training.seed, out / "drawn")
        self.text = load_text(recipe.data, data, vocabulary)
        self.data_hash = data_hash(data, list(recipe.data.corpora), (recipe.data.source, recipe.data.target))
        torch.manual_seed(recipe.training.seed)
        self.translator = new_model(recipe.model)
        if start is not None:
            initialize_from(self.translator, start, recipe.anew)
            if recipe.data.vocab_anew:
                transfer_embedding(self.translator, Vocabulary(find_vocabulary(start)), vocabulary)
        self.translator.to("cuda" if torch.cuda.is_available() else "cpu")
        super().__init__(recipe.name, recipe.training, self.translator, out)
        self.links = self.sure_links(start) if recipe.training.guided else None
        self.resume()

    def sure_links(self, start: Path | None) -> SureLinks:
        """The links for guided alignment: by the lexicon of `start`, if the vocabulary is the same, or of the text.
        Raises ConfigError for a language model, and for a vocabulary that is too large."""
        if not isinstance(self.translator, TranslationModel):
            raise ConfigError("a language model has no source: leave 'guided' out of the recipe's training section")
        data, model = self.recipe.data, self.recipe.model
        lexicon = lexicon_of(
            self.out,
            None if data.vocab_anew else start,
            lambda: epoch_items(self.text.train, data.corpora, seed=0, epoch=0),
            model.vocab_size,
        )
        return SureLinks(lexicon, model.source_embedding)

    def epoch_updates(self, epoch: int) -> list[list[Pair]]:
        data, training = self.recipe.data, self.training
        pairs = self.drawn.pairs(epoch_items(self.text.train, data.corpora, training.seed, epoch), epoch)
        return epoch_batches(pairs, training.batch_tokens, training.seed, epoch, training.sorted_by)

    def backward(self, pairs: list[Pair]) -> tuple[float, int]:
        batch = collate(pairs).to(self.device)
        tokens = batch.num_target_tokens
        smoothing, model = self.training.label_smoothing, self.translator
        if self.links is not None and isinstance(model, TranslationModel):
            loss, nll = guided_loss(model, batch, smoothing, self.links, self.training.guided)
        else:
            loss, nll = batch_loss(model, batch, smoothing)
        (loss / tokens).backward()  # type: ignore[no-untyped-call]
        return float(nll), tokens

    def dev_scores(self) -> dict[str, float]:
        return {name: dev_nll(self.translator, pairs, self.device) for name, pairs in self.text.dev.items()}

    def write_checkpoint(self, weights: dict[str, Tensor]) -> None:
        save_model(weights, self.recipe.model, self.out)

    def summary(self) -> dict[str, Any]:
        return {"recipe": asdict(self.recipe), "data_sha256": self.data_hash}


def train(recipe: Recipe, data: Path, out: Path) -> None:
    """Train `recipe` on the corpora below `data` into the folder `out`; resumes from the state in `out`."""
    Training(recipe, data, out).run()
