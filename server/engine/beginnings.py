"""Which beginning of its translation a running search is sure of, found from the new steps alone."""

from collections.abc import Sequence

from server.engine.history import Choices


class _Node:
    """A token that a row took, and the rows that continued it and still have live descendants."""

    __slots__ = ("children", "parent", "token")

    def __init__(self, token: int, parent: "_Node | None") -> None:
        self.token, self.parent = token, parent
        self.children: set[_Node] = set()


class CommonBeginning:
    """The longest common beginning of a slot's live rows.

    Rows form a tree. A node without live descendants is dropped, and the root moves down as long as it has a single
    child. Every node is made once and dropped once, so that all steps together cost as much as their number, however
    long rows stay apart.
    """

    def __init__(self, clock: int) -> None:
        """`clock`: where the lane's clock stands before the slot's first step."""
        self.clock = clock
        """The first step that has not been read."""
        self.ids: list[int] = []
        self._root = _Node(-1, None)
        self._rows = {0: self._root}
        """The rows after the last step that was read."""
        self._ending: object | None = None
        self._ended_ids: Sequence[int] = ()
        self._matched = 0
        """So many of `ids` are also the beginning of the ending."""

    def extend(self, steps: Sequence[Choices], live: Sequence[int]) -> None:
        """Read the steps from `clock` on; `live` are the rows that go on after the last of them. Of the rows before it
        is not known which went on: those that did not have no descendants among the live ones."""
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
            self._drop(node)
        self._rows = following

    def _drop(self, node: _Node) -> None:
        """Drop a node without children, and those above it that it was the last child of."""
        while not node.children and node.parent is not None:
            node.parent.children.discard(node)
            node = node.parent

    def knows_ending(self, ending: object) -> bool:
        """Whether `end` was called with this ending last."""
        return self._ending is ending

    def end(self, ending: object, ids: Sequence[int]) -> None:
        """`ending`, whose ids are `ids`, is the best hypothesis that ended so far."""
        self._ending, self._ended_ids, self._matched = ending, ids, 0

    def sure_ids(self, any_live: bool) -> Sequence[int]:
        """What live rows and the best ending have in common; `any_live`: whether rows go on."""
        if self._ending is None:
            return self.ids if any_live else ()
        if not any_live:
            return self._ended_ids
        most = min(len(self.ids), len(self._ended_ids))
        while self._matched < most and self.ids[self._matched] == self._ended_ids[self._matched]:
            self._matched += 1
        return self.ids if self._matched == len(self.ids) else self.ids[: self._matched]
