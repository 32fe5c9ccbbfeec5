"""Guided alignment: what is learned from, found for a batch at once as for pair by pair, and that a head learns it."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.alignment import AlignmentHead, Link, alignment, copied_links, lexicon_links
from model.config import ConfigError
from model.data.batching import Pair, collate
from model.data.lexicon import LEXICON, Lexicon
from model.data.vocabulary import Vocabulary
from model.training.checkpoint import VOCABULARY, load_model
from model.training.document_recipe import load_any_recipe
from model.training.guided import SureLinks, alignment_loss, lexicon_of
from model.training.recipe import RECIPES, Recipe, parse_training
from model.training.train import Training, batch_loss, guided_loss, train
from tests.models import lively_model, tiny_config

SAMPLE = Path(__file__).parents[2] / "sample"
WORDS = 16
IDS = st.lists(st.integers(4, WORDS - 1), min_size=1, max_size=5)
PAIRS = st.lists(st.builds(Pair, IDS, IDS), min_size=1, max_size=4)


def random_lexicon(seed: int) -> Lexicon:
    """Chances on both sides of what makes a link, ties among them; words in an order of their own for every source."""
    generator = np.random.default_rng(seed)
    words = np.array([generator.permutation(WORDS) for _ in range(WORDS)])
    chances = generator.choice([0, 0.04, 0.05, 0.19, 0.2, 0.21, 0.5, 0.9], words.shape)
    return Lexicon(words.astype(np.int16), chances.astype(np.float16), np.arange(WORDS, dtype=np.int16))


@given(pairs=PAIRS, seed=st.integers(0, 99), shared=st.booleans())
def test_links_of_a_batch_are_those_of_its_pairs(pairs: list[Pair], seed: int, shared: bool) -> None:
    lexicon, batch = random_lexicon(seed), collate(pairs)
    actual = SureLinks(lexicon, "shared" if shared else "separate")(batch.source, batch.target_in[:, 1:])
    for row, pair in enumerate(pairs):
        expected = set(lexicon_links(pair, lexicon))
        if shared:
            expected.update(copied_links([str(piece) for piece in pair.source], [str(piece) for piece in pair.target]))
        assert {Link(source, target) for target, source in actual[row].nonzero().tolist()} == expected


@torch.no_grad()
def test_the_loss_is_that_of_the_weights_which_the_head_gives_out() -> None:
    model = lively_model(tiny_config()).eval()
    pairs = [Pair([5, 6, 7], [9, 5]), Pair([8], [8, 9, 10, 11])]  # 5 and 8 are copied
    batch, links = collate(pairs), SureLinks(random_lexicon(0), "shared")
    cross = model.decoder.project_source(model.encode(batch.source, batch.source_keep))
    at = AlignmentHead(1, model.config.num_heads, reads=True)
    expected = 0.0
    for pair in pairs:
        sentence = collate([pair])
        [weights] = alignment(model, sentence.source, sentence.source_keep, sentence.target_in, at)
        [sure] = links(sentence.source, sentence.target_in[:, 1:])
        expected -= sum(float(weights[target, source].log()) for target, source in sure.nonzero().tolist())
    assert expected > 0
    assert float(alignment_loss(model, batch, cross, links)) == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_beside_it_the_translation_counts_as_ever() -> None:
    model = lively_model(tiny_config()).eval()
    batch, links = collate([Pair([5, 6, 7], [9, 5])]), SureLinks(random_lexicon(0), "shared")
    loss, nll = batch_loss(model, batch, 0.1)
    none, half, whole = (guided_loss(model, batch, 0.1, links, share) for share in (0, 0.5, 1))
    assert float(none[0]) == pytest.approx(float(loss), rel=1e-6)
    assert float(none[1]) == float(half[1]) == pytest.approx(float(nll), rel=1e-6)
    assert float(whole[0] - half[0]) == pytest.approx(float(half[0] - none[0]), rel=1e-5)


def guided(share: float, start: str | None = None) -> Recipe:
    recipe = load_any_recipe(RECIPES / "tiny.yaml")
    training = dataclasses.replace(recipe.training, steps=60, evaluate_every=30, guided=share, patience=9)
    return dataclasses.replace(recipe, training=training, start=start)


def agreement(run: Path) -> float:
    """The share of sure links between the sample's sentences that the guided head finds."""
    model, vocabulary = load_model(run).eval(), Vocabulary(run / VOCABULARY)
    lines = [
        (SAMPLE / f"tatoeba.{language}").read_text(encoding="utf-8").splitlines()[:60] for language in ("en", "de")
    ]
    pairs = [Pair(*both) for both in zip(*map(vocabulary.encode, lines), strict=True)]
    links, right, count = SureLinks(Lexicon.load(run / LEXICON), "shared"), 0, 0
    at = AlignmentHead(1, model.config.num_heads, reads=True)
    for pair in pairs:
        batch = collate([pair])
        [sure] = links(batch.source, batch.target_in[:, 1:])
        with torch.no_grad():
            [weights] = alignment(model, batch.source, batch.source_keep, batch.target_in, at)
        chosen = weights.argmax(dim=1)
        right += sum(int(chosen[target]) == source for target, source in sure.nonzero().tolist())
        count += int(sure.sum())
    assert count > 100
    return right / count


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[float, Path]:
    """The same training with guided alignment and without, by what it counts."""
    made = {share: tmp_path_factory.mktemp("guided") / str(share) for share in (0.0, 1.0)}
    for share, out in made.items():
        train(guided(share), SAMPLE, out)
    return made


def test_a_head_learns_to_align(runs: dict[float, Path]) -> None:
    assert not (runs[0.0] / LEXICON).exists()
    (runs[0.0] / LEXICON).write_bytes((runs[1.0] / LEXICON).read_bytes())
    without, with_it = (agreement(run) for run in runs.values())
    assert with_it > without + 0.2


def test_a_run_that_continues_another_takes_its_lexicon(runs: dict[float, Path], tmp_path: Path) -> None:
    Training(guided(0.1, start=str(runs[1.0])), SAMPLE, tmp_path / "on")
    assert (tmp_path / "on" / LEXICON).read_bytes() == (runs[1.0] / LEXICON).read_bytes()


def test_a_language_model_is_refused(tmp_path: Path) -> None:
    recipe = guided(0.1)
    language = dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, encoder_layers=0))
    with pytest.raises(ConfigError, match="a language model has no source: leave 'guided' out"):
        Training(language, SAMPLE, tmp_path / "language")


def test_a_large_vocabulary_gets_a_lexicon(tmp_path: Path) -> None:
    lexicon = lexicon_of(tmp_path, None, lambda: [Pair([39_998], [39_999])], 40_000)
    assert (int(lexicon.words[39_998, 0]), float(lexicon.probability[39_998, 0])) == (39_999, 1)


def test_the_weight_of_guided_alignment_is_a_number() -> None:
    with pytest.raises(ConfigError, match="guided must be a number, 0 or more, not -1"):
        parse_training({"steps": 1, "guided": -1})
