"""Which decoding threads of this process have work."""

import threading


class BusyThreads:
    """Threads enter and leave by themselves; any thread may ask."""

    def __init__(self) -> None:
        self._idents: set[int] = set()
        """Adding, removing and counting are atomic in CPython."""

    def enter(self) -> None:
        """The calling thread has work."""
        self._idents.add(threading.get_ident())

    def leave(self) -> None:
        """The calling thread has none."""
        self._idents.discard(threading.get_ident())

    @property
    def is_one(self) -> bool:
        """Whether at most one thread has work."""
        return len(self._idents) <= 1


DECODING = BusyThreads()
"""Of all models: they share the cores."""
