"""A limited amount of something (sentences, bytes, files) that several owners hold parts of. No lock, no clock."""

from collections import Counter


class SharedBudget:
    """Each owner holds at most `limit` units, all together at most twice as many, and an owner at most as many as its
    part leaves free of these: alone the limit, beside another owner two thirds of it, beside two others half, and so on
    (the dynamic threshold of Choudhury and Hahne 1998, with alpha = 1). Whatever one owner holds, the next one can
    acquire some. An owner that holds nothing may acquire a unit as long as one is free.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.total = 0
        """Units that all owners hold."""
        self._held: Counter[str] = Counter()

    def held(self, owner: str) -> int:
        return self._held[owner]

    @property
    def of_all(self) -> int:
        """Units that all owners hold, also where others count them as well."""
        return self.total

    def fits(self, owner: str, amount: int) -> bool:
        """Whether the owner may acquire `amount` more."""
        free = 2 * self.limit - self.of_all - amount
        return free >= 0 and self.held(owner) + amount <= max(1, free)

    def acquire(self, owner: str, amount: int) -> None:
        """Count `amount` as held, even if it does not fit."""
        self._held[owner] += amount
        self.total += amount

    def release(self, owner: str, amount: int) -> None:
        self.total -= amount
        self._held[owner] -= amount
        if not self._held[owner]:
            del self._held[owner]

    def clear(self) -> None:
        self._held.clear()
        self.total = 0
