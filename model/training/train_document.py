"""Second-stage training: a context layer on a trained sentence model (Maruf et al. 2019, section 3.4).

Stored sentences are constants: no gradient flows into them. Differs from the paper: several short documents share an
update and very long ones are cut; the store can follow the model that is trained (`rep_refresh`) or the sentence
model can be frozen (`context_only`), which makes stores the same in training and in use.
"""

import copy
import random
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.config import PAD_ID
from model.context import Store
from model.data.batching import Pair, collate
from model.data.corpus import data_hash
from model.data.documents import (
    Document,
    Passage,
    Sentence,
    cut_documents,
    epoch_documents,
    foreign_documents,
    hide_pieces,
    passages,
    read_documents,
)
from model.data.vocabulary import Vocabulary
from model.document import DocumentModel, Words, words_of
from model.training.checkpoint import VOCABULARY, WEIGHTS, load_model, save_model
from model.training.document_checkpoint import save_document_model, split_weights
from model.training.document_recipe import DocumentRecipe, find_base
from model.training.drafts import drafts_of, with_drafts
from model.training.loss import projected_cross_entropy
from model.training.run import TrainingRun
from model.translation_model import TranslationModel


class DocumentTraining(TrainingRun[Passage]):
    """One run; an update learns from one passage, its gradients summed over minibatches of sentences."""

    def __init__(self, recipe: DocumentRecipe, data: Path, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.recipe, self.section = recipe, recipe.document
        self.base_folder = find_base(self.section.base)
        shutil.copyfile(self.base_folder / VOCABULARY, out / VOCABULARY)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        base = load_model(self.base_folder).to(self.device)
        self.load_text(base, data, out)
        languages = (recipe.data.source, recipe.data.target)
        self.data_hash = data_hash(data, list(recipe.data.corpora), languages)
        torch.manual_seed(recipe.training.seed)
        self.documents = DocumentModel(base, self.section.layer).to(self.device)
        if self.section.first_gate is not None:
            self.documents.context.open_gate(self.section.first_gate)
        base.requires_grad_(not self.section.freezes_base)
        self.documents.context.requires_grad_(self.section.context != "none")
        super().__init__(recipe.name, recipe.training, self.documents, out)
        self.represents = base if self.section.freezes_base else copy.deepcopy(base).requires_grad_(False)
        self.represents_epoch = 0
        self.resume()
        self.training_mode()

    def load_text(self, base: TranslationModel, data: Path, out: Path) -> None:
        """Read the corpora; on the decoder's side also the base's translations of them, kept in out/drafts."""
        recipe, vocabulary = self.recipe.data, Vocabulary(out / VOCABULARY)

        def documents(name: str, limit: int | None) -> list[Document]:
            languages = (recipe.source, recipe.target)
            read = read_documents(data, name, languages, vocabulary, recipe.max_pair_length, limit)
            if self.section.layer.side == "decoder" and self.section.context != "none":
                sources = [sentence.pair.source for document in read for sentence in document]
                weights = self.base_folder / WEIGHTS
                read = with_drafts(read, drafts_of(base, weights, sources, recipe.max_pair_length, out / "drafts"))
            return cut_documents(read, self.section.max_sentences)

        self.train_documents = {name: documents(name, None) for name in recipe.corpora}
        self.dev_documents = {name: documents(name, limit) for name, limit in recipe.dev.items()}

    def training_mode(self) -> None:
        """Dropout where something learns: a frozen sentence model computes what it will compute in use, unless the
        recipe says otherwise."""
        self.represents.eval()
        self.documents.train()
        if self.section.freezes_base and not self.section.base_dropout:
            self.documents.base.eval()

    def passages_of(self, documents: list[Document], seed: str) -> list[Passage]:
        foreign = foreign_documents(documents, seed) if self.section.context == "shuffled" else None
        return passages(documents, self.section.max_sentences, foreign)

    def epoch_work(self, epoch: int) -> list[Passage]:
        if self.section.rep_refresh == "epoch" and not self.section.freezes_base and epoch != self.represents_epoch:
            self.represents.load_state_dict(self.documents.base.state_dict())
            self.represents_epoch = epoch
        seed = self.training.seed
        documents = epoch_documents(self.train_documents, self.recipe.data.corpora, seed, epoch)
        return self.passages_of(documents, f"{seed}/{epoch}")

    def backward(self, work: Passage) -> tuple[float, int]:
        tokens = sum(len(sentence.pair.target) + 1 for sentence in work.queries)
        total = 0.0
        if self.section.hide:
            numbers = random.Random(f"{self.training.seed}/{self.step}")
            work = hide_pieces(work, self.section.hide, self.section.hide_repeated, numbers)
        for loss, nll in self.losses(work, self.represents, self.training.label_smoothing):
            (loss / tokens).backward()  # type: ignore[no-untyped-call]
            total += float(nll)
        return total, tokens

    def losses(
        self, passage: Passage, represents: TranslationModel | None, smoothing: float
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """(smoothed loss, nll) of each minibatch, summed over its target tokens; without context where no model
        represents stored sentences."""
        model, keep = self.documents, passage.keep(self.section.visible == "online").to(self.device)
        words = None
        if represents is not None and self.section.context != "none":
            words = self.words(passage.keys, represents)
        for rows in minibatches(passage.queries, self.training.batch_tokens):
            batch = collate([passage.queries[row].pair for row in rows]).to(self.device)
            if words is None:
                memory = model.base.encode(batch.source, batch.source_keep)
                hidden = model.base.decode(batch.target_in, memory, batch.source_keep)
            else:
                store: Store = model.store(words)
                hidden = model.hidden(batch, store, keep[rows])
            wanted = batch.target_out != PAD_ID
            yield projected_cross_entropy(
                hidden[wanted], model.base.embedding.weight, batch.target_out[wanted], smoothing
            )

    @torch.no_grad()
    def words(self, sentences: list[Sentence], represents: TranslationModel) -> Words:
        batch = collate([Pair(sentence.pair.source, list(sentence.draft)) for sentence in sentences])
        training = represents.training
        try:
            return words_of(represents.eval(), self.section.layer.side, batch.to(self.device))
        finally:
            represents.train(training)

    @torch.no_grad()
    def dev_scores(self, with_context: bool = True) -> dict[str, float]:
        """The model as it would be used: stores from the sentence model as it is now."""
        self.documents.eval()
        represents = self.documents.base if with_context else None
        scores = {}
        for name, documents in self.dev_documents.items():
            numbered = epoch_documents({name: documents}, {name: 1}, 0, 0)
            total, tokens = 0.0, 0
            for passage in self.passages_of(numbered, "dev"):
                total += sum(float(nll) for _, nll in self.losses(passage, represents, 0.0))
                tokens += sum(len(sentence.pair.target) + 1 for sentence in passage.queries)
            scores[name] = total / tokens
        self.training_mode()
        return scores

    def state(self) -> dict[str, Any]:
        state = super().state()
        if not self.section.freezes_base:
            state |= {"represents": self.represents.state_dict(), "represents_epoch": self.represents_epoch}
        return state

    def resume(self) -> dict[str, Any] | None:
        state = super().resume()
        if state is not None and not self.section.freezes_base:
            self.represents.load_state_dict(state["represents"])
            self.represents_epoch = state["represents_epoch"]
        return state

    def write_checkpoint(self, weights: dict[str, Tensor]) -> None:
        """A frozen sentence model is written as it came; the control without context is a sentence model."""
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


def minibatches(sentences: list[Sentence], max_tokens: int) -> list[list[int]]:
    """Rows of `sentences`, similar lengths together, so that rows x longest side stays within `max_tokens`."""

    def width(row: int) -> int:
        return max(len(sentences[row].pair.source), len(sentences[row].pair.target)) + 1

    batches: list[list[int]] = []
    for row in sorted(range(len(sentences)), key=width):
        if not batches or width(row) * (len(batches[-1]) + 1) > max_tokens:
            batches.append([])
        batches[-1].append(row)
    return batches


def train_document(recipe: DocumentRecipe, data: Path, out: Path) -> None:
    """Train `recipe` on the corpora below `data` into the folder `out`; goes on from what `out` already holds."""
    DocumentTraining(recipe, data, out).run()
