"""Second-stage training: a context layer on a trained sentence model (Maruf et al. 2019, section 3.4).

In the paper stored sentences are constants: no gradient flows into them. Differs from the paper: several short
documents share an update and very long ones are cut; the store can follow the model that is trained (`rep_refresh`),
with gradients (`update`), or the sentence model can be frozen (`context_only`), which makes stores the same in training
and in use.
"""

import copy
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.data.batching import Batch, Pair, collate
from model.data.corpus import data_hash
from model.data.documents import (
    Document,
    Passage,
    PlacedPair,
    by_length,
    cut_documents,
    epoch_documents,
    foreign_documents,
    passages,
    read_documents,
)
from model.data.items import read_items
from model.document import DocumentModel, Words, before_eos, words_of
from model.scoring import encode_items, prefers_reference, score_items
from model.training.checkpoint import WEIGHTS, find_base, load_model, save_model
from model.training.document_checkpoint import load_context, save_document_model, split_weights
from model.training.document_recipe import DocumentRecipe
from model.training.drafts import drafts_of, with_drafts
from model.training.imported import check_layer, copy_texts, load_imported, vocabularies
from model.training.loss import projected_cross_entropy
from model.training.run import TrainingRun
from model.training.subword_sampling import SampledSources
from model.translation_model import TranslationModel


class DocumentTraining(TrainingRun[Passage]):
    """One run; an update learns from one passage, whose sentences are encoded once, as sources and as context of the
    other sentences of their document."""

    def __init__(self, recipe: DocumentRecipe, data: Path, out: Path) -> None:
        self.recipe, self.section = recipe, recipe.document
        self.base_folder = find_base(self.section.base)
        if load_imported(self.base_folder) is not None:
            check_layer(recipe)
        out.mkdir(parents=True, exist_ok=True)
        copy_texts(self.base_folder, out)
        self.sources, self.vocabulary = vocabularies(out, recipe.model)
        self.ids = recipe.model.ids
        self.drawn = SampledSources(recipe.data, self.vocabulary, recipe.training.seed, out / "drawn")
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        base = load_model(self.base_folder).to(self.device)
        self.load_text(base, data, out)
        languages = (recipe.data.source, recipe.data.target)
        self.data_hash = data_hash(data, list(recipe.data.corpora), languages)
        torch.manual_seed(recipe.training.seed)
        self.documents = DocumentModel(base, self.section.layer).to(self.device)
        if self.section.start is not None:
            self.documents.context.load_state_dict(load_context(find_base(self.section.start)))
        elif self.section.first_gate is not None:
            self.documents.context.initialize_gate(self.section.first_gate)
        base.requires_grad_(not self.section.freezes_base)
        self.documents.context.requires_grad_(self.section.context != "none")
        super().__init__(recipe.name, recipe.training, self.documents, out)
        follows = self.section.freezes_base or self.section.rep_refresh == "update"
        self.state_model = base if follows else copy.deepcopy(base).requires_grad_(False)
        self.state_model_epoch = 0
        self.last_accuracy: float | None = None
        self.resume()
        self.training_mode()

    def load_text(self, base: TranslationModel, data: Path, out: Path) -> None:
        """Read the corpora; on the decoder's side also the base's translations of them, kept in out/drafts."""
        recipe, vocabulary = self.recipe.data, self.vocabulary

        def documents(name: str, limit: int | None) -> list[Document]:
            languages = (recipe.source, recipe.target)
            alone = not self.section.freezes_base
            read = read_documents(data, name, languages, vocabulary, recipe.max_pair_length, limit, alone, self.sources)
            if self.section.layer.side == "decoder" and self.section.context != "none":
                sources = [sentence.pair.source for document in read for sentence in document]
                weights = self.base_folder / WEIGHTS
                read = with_drafts(read, drafts_of(base, weights, sources, recipe.max_pair_length, out / "drafts"))
            return cut_documents(read, self.section.max_sentences)

        self.train_documents = {name: documents(name, None) for name in recipe.corpora}
        pieces = (ids[0] for ids in vocabulary.encode([*self.section.stressed]) if len(ids) == 1)
        self.stressed = torch.tensor(sorted(pieces), dtype=torch.long, device=self.device)
        self.items = [
            item
            for name, count in self.section.items.items()
            for item in encode_items(vocabulary, read_items(data / f"{name}.jsonl.gz")[:count])
        ]
        self.dev_documents = {name: documents(name, limit) for name, limit in recipe.dev.items()}

    def rate_scale(self, parameter: str) -> float:
        return self.section.base_rate if parameter.startswith("base.") else 1.0

    def training_mode(self) -> None:
        """Dropout only in trained modules: a frozen sentence model computes the same as in use."""
        self.state_model.eval()
        self.documents.train()
        if self.section.freezes_base:
            self.documents.base.eval()

    def passages_of(self, documents: list[Document], seed: str) -> list[Passage]:
        """Passages, one for each update, in an order that `seed` decides."""
        foreign = foreign_documents(documents, seed) if self.section.context == "shuffled" else None
        packed = passages(by_length(documents, seed), self.training.batch_tokens, foreign)
        random.Random(seed).shuffle(packed)
        return packed

    def epoch_updates(self, epoch: int) -> list[Passage]:
        if self.section.rep_refresh == "epoch" and not self.section.freezes_base and epoch != self.state_model_epoch:
            self.state_model.load_state_dict(self.documents.base.state_dict())
            self.state_model_epoch = epoch
        seed = self.training.seed
        documents = epoch_documents(self.train_documents, self.recipe.data.corpora, seed, epoch)
        return self.passages_of(self.drawn.documents(documents, epoch), f"{seed}/{epoch}")

    def backward(self, passage: Passage) -> tuple[float, int]:
        numbers = random.Random(f"{self.training.seed}/{self.step}")
        online = self.section.visible == "online" or (self.section.visible == "both" and numbers.random() < 0.5)
        distance = passage.distance(online, self.documents.config.reach)
        # Where the sentence model is frozen, a sentence without context has no gradient.
        skips = self.section.freezes_base and bool(distance.any())
        rows = distance.any(dim=1).nonzero()[:, 0] if skips else torch.arange(len(passage.queries))
        state_model: TranslationModel | None = self.state_model
        if numbers.random() < self.section.alone:
            alone = [row for row, sentence in enumerate(passage.queries) if not sentence.needs_context]
            rows, state_model = (torch.tensor(alone), None) if alone else (rows, state_model)
        loss, nll, tokens = self.loss(passage, distance, rows, state_model, self.training.label_smoothing)
        if loss.requires_grad:
            (loss / tokens).backward()  # type: ignore[no-untyped-call]
        return nll, tokens

    def loss(
        self, passage: Passage, distance: Tensor, rows: Tensor, state_model: TranslationModel | None, smoothing: float
    ) -> tuple[Tensor, float, int]:
        """(smoothed loss, nll, target tokens), summed over the sentences `rows` of the passage. distance [query,
        key] gives the visible sentences. `state_model` computes the states of stored sentences; None: no context."""
        model, base = self.documents, self.documents.base
        batch = collate([sentence.pair for sentence in passage.queries], self.ids).to(self.device)
        distance, rows = distance.to(self.device), rows.to(self.device)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.section.freezes_base):
            encoder_output = base.encode(batch.source, batch.source_keep)
        own, shown = (numbers.to(self.device) for numbers in passage.grids())
        target, source_keep, changed = batch.target_in[rows], batch.source_keep[rows], None
        if state_model is None or self.section.context == "none":
            hidden = base.decode(target, encoder_output[rows], source_keep)
        elif model.on_encoder:
            words = self.words(passage, state_model, batch, encoder_output)
            seen = model.attend_within(encoder_output, encoder_output, words, own, shown, distance).state
            changed = relative_change(encoder_output[rows], seen[rows], source_keep)
            hidden = base.decode(target, seen[rows], source_keep)
        else:
            words = self.words(passage, state_model, batch, encoder_output)
            decoded = base.decoder_output(batch.target_in, encoder_output, batch.source_keep)
            hidden = model.attend_within(decoded.query, decoded.state, words, own, shown, distance).state[rows]
        # A word that the vocabulary lacks is in no target.
        wanted = (batch.target_out[rows] != self.ids.pad) & (batch.target_out[rows] != self.ids.unk)
        loss, nll = projected_cross_entropy(
            *base.embedding.projected_states(hidden[wanted]), batch.target_out[rows][wanted], smoothing
        )
        if self.section.quiet and changed is not None:
            loss = loss + self.section.quiet * changed
        if self.section.stress and torch.is_grad_enabled():
            stressed = torch.isin(batch.target_out[rows], self.stressed)
            more, _ = projected_cross_entropy(
                *base.embedding.projected_states(hidden[stressed]), batch.target_out[rows][stressed], smoothing
            )
            loss = loss + self.section.stress * more
        return loss, float(nll), int(wanted.sum())

    def words(self, passage: Passage, state_model: TranslationModel, batch: Batch, encoder_output: Tensor) -> Words:
        """The stored words of the key sentences. Where the encoder output already holds their states, these are stored,
        with gradients; otherwise `state_model` computes them, as constants."""
        if passage.keys is passage.queries and state_model is self.documents.base and self.documents.on_encoder:
            return Words(encoder_output, encoder_output, before_eos(batch.source_keep))
        return self.constant_words(passage.keys, state_model)

    @torch.no_grad()
    def constant_words(self, sentences: list[PlacedPair], state_model: TranslationModel) -> Words:
        batch = collate([Pair(sentence.pair.source, list(sentence.draft)) for sentence in sentences], self.ids)
        training = state_model.training
        try:
            return words_of(state_model.eval(), self.section.layer.side, batch.to(self.device))
        finally:
            state_model.train(training)

    @torch.no_grad()
    def dev_scores(self, with_context: bool = True) -> dict[str, float]:
        """Dev nll of the model as in use: the current sentence model computes the stores."""
        self.documents.eval()
        state_model = self.documents.base if with_context else None
        scores = {}
        for name, documents in self.dev_documents.items():
            numbered = epoch_documents({name: documents}, {name: 1}, 0, 0)
            total, tokens = 0.0, 0
            for passage in self.passages_of(numbered, "dev"):
                distance = passage.distance(self.section.visible != "offline", self.documents.config.reach)
                _, nll, count = self.loss(passage, distance, torch.arange(len(passage.queries)), state_model, 0.0)
                total, tokens = total + nll, tokens + count
            scores[name] = total / tokens
        self.training_mode()
        return scores

    @torch.no_grad()
    def accuracy(self) -> float | None:
        """Share of the contrastive items for which the right translation is the most probable; None without items."""
        if not self.items or self.section.context == "none":
            return None
        self.documents.eval()
        right = [prefers_reference(scores) for scores in score_items(self.documents, self.items)]
        self.training_mode()
        return sum(right) / len(right)

    def objective(self, scores: dict[str, float]) -> float:
        """Mean dev nll, plus the share of wrong items times `items_weight`."""
        accuracy = self.accuracy()
        self.last_accuracy = accuracy
        return super().objective(scores) + (self.section.items_weight * (1 - accuracy) if accuracy is not None else 0.0)

    def log(self, row: dict[str, float]) -> None:
        super().log(row if self.last_accuracy is None else row | {"accuracy": round(self.last_accuracy, 4)})

    def state(self) -> dict[str, Any]:
        state = super().state()
        if self.state_model is not self.documents.base:
            state |= {"represents": self.state_model.state_dict(), "represents_epoch": self.state_model_epoch}
        return state

    def resume(self) -> dict[str, Any] | None:
        state = super().resume()
        if state is not None and self.state_model is not self.documents.base:
            self.state_model.load_state_dict(state["represents"])
            self.state_model_epoch = state["represents_epoch"]
        return state

    def write_checkpoint(self, weights: dict[str, Tensor]) -> None:
        """A frozen sentence model is written unchanged; the control without context is written as a sentence model."""
        if self.section.context == "none":
            save_model(split_weights(weights)[0], self.documents.base.config, self.out)
            return
        base = {f"base.{name}": tensor for name, tensor in load_model(self.base_folder).state_dict().items()}
        context = {f"context.{name}": tensor for name, tensor in self.documents.context.state_dict().items()}
        config = self.documents.base.config
        save_document_model({**base, **context, **weights}, config, self.section.layer, self.out)

    def summary(self) -> dict[str, Any]:
        return {
            "recipe": asdict(self.recipe),
            "data_sha256": self.data_hash,
            "dev_nll_with_context": self.dev_scores(),
            "dev_nll_without_context": self.dev_scores(with_context=False),
        }


def relative_change(before: Tensor, after: Tensor, keep: Tensor) -> Tensor:
    """The distance by which context moved the states [row, length, d], relative to their norm, summed over kept
    positions."""
    moved = (after - before).float().pow(2).sum(dim=-1).add(1e-12).sqrt()
    share: Tensor = moved / before.float().norm(dim=-1).clamp(min=1e-6)
    return share[keep].sum()


def train_document(recipe: DocumentRecipe, data: Path, out: Path) -> None:
    """Train `recipe` on the corpora below `data` into the folder `out`; resumes from the state in `out`."""
    DocumentTraining(recipe, data, out).run()
