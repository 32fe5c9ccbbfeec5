"""Cuts the texts of a request into the sentences that the engine takes."""

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from server.artifact.manifest import Manifest
from server.backends.context import SentenceContext
from server.engine.request import SearchOptions, SentenceRequest
from server.scheduling.caller import Service, current
from server.text.base.pieces import Pieces
from server.text.base.words import has_letters
from server.text.split.plan import PlannedSentence, TextPlan, plan_text
from server.translation.length_check import is_aligned


class TooManySentences(ValueError):
    """The texts have more sentences than the engine's queue could ever hold."""


class PrefixRefused(ValueError):
    """A prefix that no translation can have: there is nothing to translate, or too few pieces are left after it."""


@dataclass(frozen=True)
class TextRequest:
    """Texts to translate, and how. Every sentence sees `context`, and no other sentence of the texts."""

    texts: Sequence[str]
    options: SearchOptions
    context: SentenceContext | None = None
    splits: bool = True
    """Whether texts are cut into sentences; else each is one sentence, cut only where it is too long for the model."""
    prefixes: Sequence[str] = ()
    """What the translation of each text's first sentence begins with, "" for no prefix; none, or one for every text."""
    aligns: bool = False
    """Whether the outcome has the alignment of words."""
    lowers_emphasis: bool = True
    """Whether the model reads single words in capitals in small letters, if it aligns words."""
    tagged: bool = False
    """Whether opening and closing placeholders in the texts are tags. If the model aligns words, tags are placed round
    the translations of the words that they enclose."""


@dataclass(frozen=True)
class PlannedRequest:
    """A request whose texts were cut; `sentences` are those of all `plans`, in order."""

    request: TextRequest
    plans: tuple[TextPlan, ...]
    sentences: tuple[SentenceRequest, ...]
    started: float
    """A time.monotonic() value."""
    languages: tuple[str, str] = ("", "")
    """Codes of source and target."""

    @property
    def needs_alignment(self) -> bool:
        """Whether it is requested, or needed to place tags or capitals."""
        return self.request.aligns or any(sentence.needs_alignment for plan in self.plans for sentence in plan.planned)

    @property
    def num_chars(self) -> int:
        return sum(len(segment.text) for plan in self.plans for segment in plan.segments)


class Planner:
    """Cuts texts for one model."""

    def __init__(
        self, manifest: Manifest, vocabularies: tuple[Pieces, Pieces], max_queued: int, languages: tuple[str, str]
    ) -> None:
        """`max_queued`: the most sentences of an interactive request, which are queued at once. `languages`: of source
        and target."""
        self._manifest, self._max_queued, self._languages = manifest, max_queued, languages
        self._source_pieces, self._target_pieces = vocabularies
        self._wants_coverage = partial(is_aligned, usual_ratio=manifest.length_ratio)

    def plan_request(self, request: TextRequest, can_align: bool) -> PlannedRequest:
        """`can_align`: whether the model aligns words. Raises TooManySentences, PrefixRefused."""
        started, owner = time.monotonic(), object()
        strips_tags, lowers_emphasis = request.tagged and can_align, request.lowers_emphasis and can_align
        count = self._sentence_counter()
        plans = tuple(
            self.plan_text(text, request.splits, strips_tags, count, lowers_emphasis) for text in request.texts
        )
        if any(request.prefixes):
            plans = tuple(
                self._with_prefix(index, plan, prefix, request.options)
                for index, (plan, prefix) in enumerate(zip(plans, request.prefixes, strict=True))
            )
        sentences = tuple(
            SentenceRequest(
                sentence.ids,
                request.options,
                request.context,
                owner,
                prefix=sentence.prefix_ids,
                wants_coverage=self._wants_coverage,
            )
            for plan in plans
            for sentence in plan.planned
        )
        return PlannedRequest(request, plans, sentences, started, self._languages)

    def plan_text(
        self,
        text: str,
        splits: bool = True,
        strips_tags: bool = False,
        count: Callable[[int], None] = lambda number: None,
        lowers_emphasis: bool = False,
    ) -> TextPlan:
        """Cut a text into sentences that the model can read; arguments as in `server.text.split.plan`."""
        manifest = self._manifest
        plan = plan_text(
            text,
            self._languages[0],
            self._source_pieces,
            manifest.max_source_length,
            splits,
            strips_tags,
            count,
            lowers_emphasis,
        )
        return plan.in_languages(self._languages)

    def min_sentences(self, texts: Iterable[str]) -> int:
        """A lower bound of the number of sentences, without cutting texts: no sentence goes beyond its line. Counts up
        to one more than `max_queued`."""
        lines = (line for text in texts for line in text.splitlines() if has_letters(line))
        return sum(1 for _ in itertools.islice(lines, self._max_queued + 1))

    def check_count(self, number: int) -> None:
        """Raise TooManySentences for more sentences of an interactive request than the queue could ever hold."""
        if number > self._max_queued and current.get().service is Service.INTERACTIVE:
            raise TooManySentences(
                f"at least {number} sentences in one request, at most {self._max_queued} can wait; "
                "send fewer texts at a time"
            )

    def max_target_pieces(self, sentence: PlannedSentence, options: SearchOptions) -> int:
        """The most pieces that a sentence's translation may have, without EOS where that is forced."""
        limit = options.length_limit(len(sentence.ids), len(sentence.prefix_ids))
        return min(limit, self._manifest.max_target_length) - self._manifest.forced_eos

    def _sentence_counter(self) -> Callable[[int], None]:
        """Counts the sentences of a request while they are planned, so that planning ends with TooManySentences at the
        first sentence that is too many."""
        total = 0

        def count(number: int) -> None:
            nonlocal total
            total += number
            self.check_count(total)

        return count

    def _with_prefix(self, index: int, plan: TextPlan, prefix: str, options: SearchOptions) -> TextPlan:
        """The plan of text `index`, with its prefix. Raises PrefixRefused."""
        if not prefix:
            return plan
        if not plan.planned:
            raise PrefixRefused(f"text {index} has no sentence whose translation could begin with something")
        plan = plan.with_prefix(prefix, self._target_pieces)
        [sentence, *_] = plan.planned
        length, most = len(sentence.prefix_ids), self.max_target_pieces(sentence, options)
        if length >= most:
            raise PrefixRefused(
                f"that of text {index} has {length} pieces, at most {most - 1} leave room for what follows"
            )
        return plan
