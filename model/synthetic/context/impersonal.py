"""Made sentences with a pleonastic "it" ("It is easy to forget a name.") or one that means an event ("It made Tom
angry."). The German pronoun is always "es", whatever nouns precede. Real pairs of this kind are few, and rarely follow
a sentence with possible antecedents."""

import random
import re
from collections.abc import Mapping

from model.synthetic.context.frames import pronouns
from model.synthetic.context.german import GENDERS
from model.synthetic.context.it import AmbiguousSentence, Reference
from model.synthetic.context.wordlists import WordLists

_SLOT = re.compile(r"\{([^}]*)\}")


def impersonal(reference: Reference, lists: WordLists, numbers: random.Random) -> AmbiguousSentence:
    """A made sentence of the kind "pleonastic" or "event", with the right answer "es" and the two wrong ones."""
    frames = lists.event if reference == "event" else lists.pleonastic
    source, target = numbers.choices(frames, [1 + 3 * source.count("{") for source, _ in frames])[0]
    words: dict[str, str] = {}
    for names, choices in lists.choices.items():
        words |= dict(zip(names.split("|"), numbers.choice(choices), strict=True))
    targets = {gender: _filled(target, {**words, **pronouns(gender)}) for gender in GENDERS}
    return AmbiguousSentence(_filled(source, words), targets, reference)


def _filled(frame: str, words: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: words[slot[1]], frame)
