"""What short requests get of an engine beside all other work: spare slots, and turns by time (see RequestQueue)."""

SHORT_SHARE = 3
"""Seconds of short requests for each second of other work, as long as there are short requests."""
MAX_SHORT_CREDIT = 0.1
"""Seconds of decoding that short requests are ahead of longer work at most."""


class ShortShare:
    """Counts free slots, and the time that short requests may decode before it is the turn of other work."""

    def __init__(self, slots: int) -> None:
        """`slots`: sentences of any request that run at the same time."""
        self._slots = slots
        self.num_spare_slots = max(1, slots // 4)
        """Slots of short requests beside those that other work has taken."""
        self._credit = 0.0
        """Seconds that short requests may decode."""

    @property
    def has_turn(self) -> bool:
        """Whether the next round is for short requests alone, if there are any."""
        return self._credit > 0

    def end_round(self, seconds: float, seconds_of_short: float, only_short: bool) -> None:
        """A round took `seconds`; the lanes of short requests took `seconds_of_short` of them."""
        if only_short:
            self._credit -= seconds
        else:
            self._credit = min(MAX_SHORT_CREDIT, SHORT_SHARE * (seconds - seconds_of_short))

    def num_free(self, num_running: int, num_short: int) -> int:
        """Free slots for sentences of any request; `num_short` of the running ones are of short requests, and are
        counted in the spare slots first."""
        return self._slots - (num_running - num_short) - max(0, num_short - self.num_spare_slots)

    def num_free_for_short(self, num_running: int, num_short: int) -> int:
        """Free slots for sentences of short requests, the spare ones included where other sentences run."""
        return min(self._slots - num_short, self._slots + self.num_spare_slots - num_running)
