"""Files that are translated with a translation memory: its entries take the place of texts and of sentences with an
equal source, or a similar one where the request allows it. The model does not translate these; other sentences see
their sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from server.runtime.checkpoints import checkpoint
from server.stores.records import Sentence
from server.translation.memory_lookup import Lookup, MemoryUse, most_chars


@dataclass(frozen=True)
class MemoryParts:
    """Translations of whole texts, by their numbers, and of sentences, by theirs; the sentences of whole texts have
    none of their own."""

    texts: Mapping[int, str] = field(default_factory=dict)
    sentences: Mapping[int, str] = field(default_factory=dict)

    def targets(self, translated: Mapping[int, str], count: int) -> list[str]:
        """The translations of all sentences, from those of the others."""
        return [self.sentences[number] if number in self.sentences else translated[number] for number in range(count)]


NOTHING = MemoryParts()


def parts_from_memory(
    texts: Sequence[str], sentences: Sequence[Sentence], separator: str, use: MemoryUse
) -> MemoryParts:
    """What the memory has of a file's texts, which were joined by the separator and cut into the sentences. Raises
    TooManyMatches."""
    whole: dict[int, str] = {}
    lookup = Lookup(use, tagged=True, most_chars=most_chars(texts))
    for number, text in enumerate(texts):
        checkpoint()
        inner = text.strip()
        target = lookup.target(inner)
        if target is not None:
            start = text.index(inner)
            whole[number] = text[:start] + target + text[start + len(inner) :]
    of_sentences: dict[int, str] = {}
    text_number = 0
    for number, sentence in enumerate(sentences):
        checkpoint()
        text_number += sentence.gap.count(separator)
        if text_number in whole:
            of_sentences[number] = ""
        elif sentence.parts and (target := lookup.target(sentence.source)) is not None:
            of_sentences[number] = target
    return MemoryParts(whole, of_sentences)
