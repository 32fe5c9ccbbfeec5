"""Two nouns of different gender, only one of which can be the antecedent: by agreement in number ("The shoes were next
to the box. It was empty."), by animacy ("The girl found the key. It was rusty."), by selection ("The cake was next to
the letter. It tasted sweet.") or because words are repeated ("The cup was in the kitchen and the book in the garden. It
had been in the garden for days.")."""

import random
from collections.abc import Sequence

from model.synthetic.context.frames import ADJECTIVES, FRAMES, it_frame, slots
from model.synthetic.context.it import AmbiguousSentence
from model.synthetic.context.nouns import Noun
from model.synthetic.context.wordlists import WordLists
from model.synthetic.context.words import capitalized
from model.synthetic.tables import Text, texts

TOGETHER, ACTIONS, BESIDE_PLURAL, BESIDE_PERSON, APART = (
    texts(FRAMES[name]) for name in ("together", "actions", "beside plural", "beside person", "apart")
)
Made = tuple[Text, AmbiguousSentence, Noun, Noun | None]
"""The sentence before, the sentence with "it", the antecedent, the other noun."""


def _both(noun: Noun, other: Noun) -> dict[str, str]:
    """Slots of the antecedent, and with a suffix b those of the other noun."""
    first, second = slots(noun, ADJECTIVES[0]), slots(other, ADJECTIVES[0])
    return first | {"f": other.source, "M": other.target} | {f"{name}b": value for name, value in second.items()}


def by_selection(words: WordLists, numbers: random.Random) -> Made:
    meant, others = numbers.sample(words.classes, 2)
    noun = numbers.choice(meant.nouns)
    other = numbers.choice([other for other in others.nouns if other.gender != noun.gender])
    values = _both(*((noun, other) if numbers.random() < 0.5 else (other, noun)))
    frame = numbers.choice(TOGETHER)
    text = with_articles(frame[0].format(**values)), frame[1].format(**values)
    return text, it_frame(numbers, meant.predicates, "selection"), noun, other


def by_action(words: WordLists, numbers: random.Random) -> Made:
    """An animal and a thing; either can be the antecedent."""
    animals, things = words.classes[0], numbers.choice([cls for cls in words.classes if cls.within_reach])
    animal = numbers.choice(animals.nouns)
    thing = numbers.choice([thing for thing in things.nouns if thing.gender != animal.gender])
    values = _both(animal, thing)
    values |= {"Ein1": capitalized(values["ein1"]), "Unser1": capitalized(values["unser1"])}
    frame = numbers.choice(ACTIONS)
    text = with_articles(frame[0].format(**values)), frame[1].format(**values)
    if numbers.random() < 0.5:
        return text, it_frame(numbers, animals.predicates, "selection"), animal, thing
    return text, it_frame(numbers, things.predicates, "selection"), thing, animal


def by_number(words: WordLists, things: Sequence[Noun], numbers: random.Random) -> Made:
    noun, plural = numbers.choice(things), numbers.choice(words.plurals)
    return _beside(noun, {"p": plural[0], "P": plural[1]}, BESIDE_PLURAL, "number", words, numbers)


def by_animacy(words: WordLists, things: Sequence[Noun], numbers: random.Random) -> Made:
    noun, person = numbers.choice(things), numbers.choice(words.persons)
    return _beside(noun, {"p": person[0], "P": person[1]}, BESIDE_PERSON, "animacy", words, numbers)


def _beside(
    noun: Noun, values: dict[str, str], frames: Sequence[Text], kind: str, words: WordLists, numbers: random.Random
) -> Made:
    frame = numbers.choice(frames)
    filled = slots(noun, ADJECTIVES[0]) | values
    text = with_articles(frame[0].format(**filled)), frame[1].format(**filled)
    return text, it_frame(numbers, words.after, kind), noun, None


def by_repetition(words: WordLists, things: Sequence[Noun], numbers: random.Random) -> Made:
    noun = numbers.choice(things)
    other = numbers.choice([other for other in numbers.sample(list(things), min(len(things), 50))
                            if other.gender != noun.gender] or [noun])  # fmt: skip
    here, there = numbers.sample(words.places, 2)
    values = _both(noun, other) | {"p": here[0], "P": here[1], "q": there[0], "Q": there[1]}
    frame, repeated = numbers.choice(APART), numbers.choice(words.repeated)
    text = frame[0].format(**values), frame[1].format(**values)
    repeated_frame = repeated[0].format(**values), repeated[1].replace("{P}", here[1])
    return text, it_frame(numbers, [repeated_frame], "repetition"), noun, other


def with_articles(text: str) -> str:
    """a -> an before a vowel."""
    words = text.split(" ")
    for place in range(len(words) - 1):
        if words[place] in ("a", "A") and words[place + 1][:1] in "aeiou":
            words[place] += "n"
    return " ".join(words)
