"""Text for the tests of words."""

from model.data.corpus import SentencePair


def pairs(*texts: tuple[str, str]) -> list[SentencePair]:
    return [SentencePair(source, target, 0) for source, target in texts]
