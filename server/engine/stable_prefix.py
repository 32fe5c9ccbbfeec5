"""The prefix of its translation that a running search cannot change any more, computed from the new steps alone."""

from collections.abc import Sequence

from server.engine.history import Choices


class _Node:
    """A token that a row took, and the rows that continued it and still have live descendants."""

    __slots__ = ("children", "parent", "token")

    def __init__(self, token: int, parent: "_Node | None") -> None:
        self.token, self.parent = token, parent
        self.children: set[_Node] = set()


class StablePrefix:
    """The longest common prefix of a slot's live rows.

    Rows form a tree. A node without live descendants is removed, and the root moves down as long as it has a single
    child. Every node is created once and removed once, so the cost of all steps together is proportional to their
    number, however late the rows meet in a common ancestor.
    """

    def __init__(self, clock: int) -> None:
        """`clock`: the lane's clock before the slot's first step."""
        self.clock = clock
        """The first step that has not been read."""
        self.ids: list[int] = []
        self._root = _Node(-1, None)
        self._rows = {0: self._root}
        """The rows after the last step that was read."""
        self.best: object | None = None
        """The best finished hypothesis; None while there is none."""
        self._best_ids: Sequence[int] = ()
        self._num_common = 0
        """So many of `ids` are known to be a prefix of the best finished hypothesis."""

    def extend(self, steps: Sequence[Choices], live: Sequence[int]) -> None:
        """Read the steps from `clock` on; `live` are the live rows after the last of them. Rows of earlier steps that
        were not continued have no live descendants, so they need not be marked."""
        for number, (tokens, parents) in enumerate(steps, 1):
            self._step(tokens, parents, live if number == len(steps) else range(len(tokens)))
        self.clock += len(steps)
        while len(self._root.children) == 1:
            [self._root] = self._root.children
            self._root.parent = None
            self.ids.append(self._root.token)

    def _step(self, tokens: Sequence[int], parents: Sequence[int], rows: Sequence[int]) -> None:
        following: dict[int, _Node] = {}
        for row in rows:
            parent = self._rows.get(parents[row])
            if parent is not None:
                following[row] = _Node(tokens[row], parent)
                parent.children.add(following[row])
        for node in self._rows.values():
            self._prune(node)
        self._rows = following

    def _prune(self, node: _Node) -> None:
        """Remove a node without children, and the ancestors whose last child it was."""
        while not node.children and node.parent is not None:
            node.parent.children.discard(node)
            node = node.parent

    def clear(self) -> None:
        """Forget all rows. Nodes refer to each other: a full garbage collection would have to find them."""
        for row in self._rows.values():
            node: _Node | None = row
            while node is not None:
                node.children.clear()
                node = node.parent
        self._rows = {}

    def set_best(self, best: object, ids: Sequence[int]) -> None:
        """`best`, whose ids are `ids`, is the best finished hypothesis so far."""
        self.best, self._best_ids, self._num_common = best, ids, 0

    def stable_ids(self, any_live: bool) -> Sequence[int]:
        """The common prefix of the live rows and the best finished hypothesis; `any_live`: whether there are live
        rows."""
        if self.best is None:
            return self.ids if any_live else ()
        if not any_live:
            return self._best_ids
        most = min(len(self.ids), len(self._best_ids))
        while self._num_common < most and self.ids[self._num_common] == self._best_ids[self._num_common]:
            self._num_common += 1
        return self.ids if self._num_common == len(self.ids) else self.ids[: self._num_common]
