"""A file in, the same file translated out: its texts are one document, so that its sentences see each other."""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from server.documents.batches import OnProgress, translate_all
from server.documents.cutting import cut_text
from server.documents.sentence_states import StateReader
from server.documents.state_cache import StateCache
from server.documents.translate import DocumentTask
from server.documents.two_stage import after_first, cut_for_second
from server.files.accelerators import Separated, separated
from server.files.doubtful import Doubtful, FlaggedSentence
from server.files.formats.base import FileTooLarge
from server.files.formats.registry import translated_name
from server.files.inline_tags import with_inline_tags
from server.files.memory_parts import NOTHING, parts_from_memory
from server.files.parsing import ParsedFile
from server.files.tagged_sentences import with_tags, without_tags
from server.files.whole_sentences import with_all_clauses
from server.runtime.checkpoints import checkpoint
from server.runtime.offload import offload
from server.stores.records import Mode, Sentence
from server.text.checks.flags import find_flags
from server.text.protect.restoring import Restored
from server.text.protect.terms import Terms
from server.text.split.sentences import split_text
from server.translation.memory_lookup import MemoryUse
from server.translation.translator import RequestedOptions, Translator
from server.translation.two_stage import translate_in_two_stages

STATES_BYTES = 16 * 2**20
"""Memory for the states of a file's sentences, for models whose sentences see a few others."""
SHORTEST_SENTENCE = 16
"""Characters of a file's sentences on average, at least: a sentence costs far more memory than its characters."""
_COUNTED_CHARACTERS = 10_000
"""Characters whose sentences are counted at a time."""
_SEPARATORS = "\x1e\x1d\x1c\x1f"


@dataclass(frozen=True)
class TranslatedFile:
    """`flags`: how many sentences have each flag; `doubtful` are those that have any. `num_characters` of the texts
    that were translated. `notes`: how the file was read where that is not certain, and what else was changed."""

    data: bytes
    name: str
    media_type: str
    num_sentences: int
    num_characters: int
    flags: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    doubtful: Doubtful = field(default_factory=Doubtful)


async def translate_file(
    models: Sequence[Translator],
    file: ParsedFile,
    reader: StateReader,
    options: RequestedOptions,
    mode: Mode = "offline",
    on_progress: OnProgress = lambda done, total: None,
    terms: Terms | None = None,
    memory: MemoryUse | None = None,
) -> TranslatedFile:
    """Translate a file by one model, or by two models in two stages. `options`, as documents have them, are those of
    every model; `terms` are translated as they say. Entries of `memory` are used before the model. `on_progress` is
    called with the number of translated sentences and the number of all, of all stages. Nothing is stored; a cancelled
    call leaves the engine.

    Raises FileError, and what translate_all and translate_in_two_stages raise.
    """
    language = models[-1].languages[1]
    translation = _FileTranslation(models, reader, options, mode, on_progress, memory)
    most = _max_sentences(file.source.max_characters)
    # entries of a memory are compared with texts as they are
    tagged = await offload(with_inline_tags, file.texts if memory is None else ())
    given = tagged.texts if memory is None else file.texts
    sentences, translations, texts = await translation.translate(given, terms, most)
    texts = await offload(tagged.restored, texts)
    apart = await offload(separated, file.texts, texts) if memory is None else Separated(texts)
    written = await file.write(apart.translations, translation.languages)
    notes = [*written.notes, *([_clashes(apart.num_clashes)] if apart.num_clashes else [])]
    found = await offload(translation.flags_of, sentences, translations)
    doubtful = Doubtful.of(_flagged(sentences, translations, found))
    flags = _counted(found)
    models[-1].count_flags(flags)
    if memory is not None:
        memory.count(len(translation.from_memory))
    num_characters = file.num_chars
    name = translated_name(file.name, language)
    media_type = file.written_media_type
    return TranslatedFile(
        written.data, name, media_type, len(sentences), num_characters, flags=flags, notes=notes, doubtful=doubtful
    )


@dataclass(frozen=True)
class TranslatedDocument:
    """The translated `texts`; `flagged` are the sentences that look wrong, in their order."""

    texts: list[str]
    num_sentences: int
    flagged: list[FlaggedSentence]


async def translate_as_document(
    models: Sequence[Translator],
    texts: Sequence[str],
    reader: StateReader,
    options: RequestedOptions,
    max_characters: int,
    on_progress: OnProgress = lambda done, total: None,
    terms: Terms | None = None,
) -> TranslatedDocument:
    """The translations of texts that are one document, as those of a file are (see `translate_file`). Raises
    FileTooLarge, and what translate_all and translate_in_two_stages raise."""
    translation = _FileTranslation(models, reader, options, "offline", on_progress)
    sentences, targets, translations = await translation.translate(texts, terms, _max_sentences(max_characters))
    flags = await offload(translation.flags_of, sentences, targets)
    models[-1].count_flags(_counted(flags))
    return TranslatedDocument(translations, len(sentences), list(_flagged(sentences, targets, flags)))


def _clashes(count: int) -> str:
    labels = "1 label has" if count == 1 else f"{count} labels have"
    return f"{labels} the accelerator of another one in the same menu: none of its letters is free"


def _max_sentences(max_characters: int) -> int:
    return max(1, max_characters // SHORTEST_SENTENCE)


def _flagged(
    sentences: Sequence[Sentence], translations: Sequence[str], flags: Sequence[tuple[str, ...]]
) -> Iterator[FlaggedSentence]:
    """The sentences that have flags."""
    for sentence, translation, flags_of_sentence in zip(sentences, translations, flags, strict=True):
        if flags_of_sentence:
            yield FlaggedSentence(sentence.source, translation, flags_of_sentence)


def _counted(flags: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """How many sentences have each flag."""
    return dict(Counter(flag for flags_of_sentence in flags for flag in flags_of_sentence))


@dataclass(frozen=True)
class _FileTranslation:
    models: Sequence[Translator]
    reader: StateReader
    options: RequestedOptions
    mode: Mode
    on_progress: OnProgress
    memory: MemoryUse | None = None
    from_memory: set[int] = field(default_factory=set)
    """Numbers of the sentences that the memory has."""
    begun: set[int] = field(default_factory=set)
    """Stages whose sentences were translated once."""
    truncated: set[int] = field(default_factory=set)
    """Numbers of the sentences whose translations lack a part, in any stage."""
    cut: set[int] = field(default_factory=set)
    """Numbers of the sentences that were translated in parts."""
    moved: set[int] = field(default_factory=set)
    """Numbers of the sentences in which the model lost something protected, in any stage."""

    @property
    def languages(self) -> tuple[str, str]:
        return self.models[0].languages[0], self.models[-1].languages[1]

    def flags_of(self, sentences: Sequence[Sentence], translations: Sequence[str]) -> list[tuple[str, ...]]:
        """The flags of every sentence, after `translate`."""
        flags: list[tuple[str, ...]] = []
        for number, (sentence, translation) in enumerate(zip(sentences, translations, strict=True)):
            checkpoint()
            if number in self.from_memory:
                flags.append(())
                continue
            seen = {"cut": self.cut, "truncated": self.truncated, "moved": self.moved}
            lacking = [flag for flag, numbers in seen.items() if number in numbers]
            flags.append((*find_flags(sentence.source, translation, self.languages), *lacking))
        return flags

    async def translate(
        self, texts: Sequence[str], terms: Terms | None, max_sentences: int
    ) -> tuple[list[Sentence], list[str], list[str]]:
        """The sentences of the texts (FileTooLarge for more than `max_sentences`), their translations, and the
        translated texts. A control character between two texts keeps them apart: no sentence goes beyond it, and no
        translation has one. The texts are cut once: the first model's translation of a sentence is one sentence for the
        second."""
        if not texts:
            return [], [], []
        separator = _free_separator(texts)
        whole = texts[0] if len(texts) == 1 else separator.join(text.replace(separator, " ") for text in texts)
        sentences, end = await offload(_cut, whole, self.models[0], max_sentences)
        known = NOTHING
        if self.memory is not None:
            known = await offload(parts_from_memory, texts, sentences, separator, self.memory)
            self.from_memory.update(known.sentences)
        if len(self.models) == 1:
            left = [number for number in range(len(sentences)) if number not in known.sentences]
            done = await self.translate_stage(0, sentences, left, terms)
            targets = known.targets(dict(zip(left, done, strict=True)), len(sentences))
        else:  # the second model sees what the first one makes of every sentence
            sources = [sentence.source for sentence in sentences]
            strips_tags = self.models[0].worker.side_tasks.can_align
            stages = _FileStages(self, sentences)
            done = (await translate_in_two_stages(stages, sources, terms, strips_tags)).targets
            targets = known.targets(dict(enumerate(done)), len(sentences))
        translated = "".join(f"{item.gap}{target}" for item, target in zip(sentences, targets, strict=True)) + end
        parts = [translated] if len(texts) == 1 else translated.split(separator)
        return sentences, targets, [known.texts.get(number, part) for number, part in enumerate(parts)]

    async def translate_stage(
        self, stage: int, sentences: Sequence[Sentence], numbers: Sequence[int], terms: Terms | None
    ) -> list[str]:
        """The translations, with their tags, of the sentences with these `numbers`, by the model of this stage. All
        `sentences` see each other."""
        model, reader = self.models[stage], self.reader
        strips_tags = model.worker.side_tasks.can_align
        readable = await offload(without_tags, sentences, model) if strips_tags else list(sentences)
        chosen = frozenset(numbers)
        for number, sentence in enumerate(readable):
            if number not in chosen:  # it is only seen
                readable[number] = replace(sentence, translation="")
        if model.reach is not None:  # the states of a few sentences serve the next batch, and no other file
            reader = StateReader(StateCache(STATES_BYTES))
        task = DocumentTask(
            "file-" + secrets.token_hex(16), self.mode, self.options, terms, counts_flags=False, finds_missing=False
        )

        is_first = stage not in self.begun
        self.begun.add(stage)

        def on_progress(done: int, total: int) -> None:
            if is_first:  # sentences that are translated again were counted before
                self.on_progress(stage * total + done, len(self.models) * total)

        try:
            translated = await translate_all(model, task, readable, reader, on_progress)
        finally:
            reader.cache.drop(task.document_id)
        done, lacking = await with_all_clauses(
            model, self.options, [translated[number] for number in numbers], splits=terms is None
        )
        for seen in (self.truncated, self.moved):
            seen.difference_update(numbers if stage == 0 else ())
        self.truncated.update(numbers[at] for at in lacking)
        self.cut.update(number for number, sentence in zip(numbers, done, strict=True) if len(sentence.parts) > 1)
        placed = [Restored(sentence.translation or "", "moved" in sentence.flags) for sentence in done]
        if strips_tags:
            placed = await with_tags(model, [sentences[number] for number in numbers], done, terms)
        self.moved.update(number for number, each in zip(numbers, placed, strict=True) if each.is_moved)
        return [each.text for each in placed]


@dataclass(frozen=True)
class _FileStages:
    """The stages of a file's sentences."""

    translation: _FileTranslation
    sentences: Sequence[Sentence]

    async def first(self, numbers: Sequence[int], terms: Terms | None) -> list[str]:
        return await self.translation.translate_stage(0, self.sentences, numbers, terms)

    async def second(self, numbers: Sequence[int], middles: Sequence[str]) -> list[str]:
        middle_sentences = [
            after_first(replace(sentence, translation=middle))
            for sentence, middle in zip(self.sentences, middles, strict=True)
        ]
        cut = await offload(cut_for_second, middle_sentences, self.translation.models[1])
        return await self.translation.translate_stage(1, cut, numbers, None)


def _cut(text: str, translator: Translator, max_sentences: int) -> tuple[list[Sentence], str]:
    """As `cut_text`. Raises FileTooLarge before it has made many more than `max_sentences` sentences."""
    count, language = 0, translator.languages[0]
    for start in range(0, len(text), _COUNTED_CHARACTERS):
        segments = split_text(text[start : start + _COUNTED_CHARACTERS], language)
        count += sum(segment.is_sentence for segment in segments)
        if count > max_sentences + start // _COUNTED_CHARACTERS:  # a sentence may be cut in two at every start
            raise FileTooLarge(f"the file has more than {max_sentences} sentences, the most that are taken; split it")
    return cut_text(text, translator)


def _free_separator(texts: Sequence[str]) -> str:
    """A separator that the texts do not have; if they have all, the first, which then becomes a space in them."""
    free = (separator for separator in _SEPARATORS if not any(separator in text for text in texts))
    return next(free, _SEPARATORS[0])
