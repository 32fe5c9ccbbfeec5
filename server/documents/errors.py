"""Why a request about a document, or work on it, is refused; every message says what is possible instead."""


class TooLong(ValueError):
    """More sentences than a document may have. `param` is the field of the request that has them."""

    def __init__(self, message: str, param: str = "sentences") -> None:
        super().__init__(message)
        self.param = param


class UnknownSentence(LookupError):
    """The document has no such sentence."""


class Refused(RuntimeError):
    """The document's mode, state or length does not allow it; the message says what would."""


class Unservable(RuntimeError):
    """No model here can finish the document; the message says why."""


class NotServed(Unservable):
    """The document's model is not served here, or not yet; the document waits for it."""


def check_length(num_places: int, max_sentences: int) -> None:
    """Raises TooLong. Every part of a long sentence counts, because the work grows with parts."""
    if num_places > max_sentences:
        raise TooLong(f"the document would have {num_places} sentences, at most {max_sentences} are taken")


def check_index(index: int, count: int) -> None:
    """Raises UnknownSentence."""
    if index >= count:
        raise UnknownSentence(f"the document has {count} sentences, there is no sentence {index}")
