"""A recorder of steps for the CPU, in the place of CUDA graphs: it keeps the operations of one run with their tensors,
and runs the same operations on the same tensors again."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WAIT = ("aten._local_scalar_dense", "aten.nonzero", "aten.item", "aten.is_nonzero", "aten.repeat_interleave")
"""Operations whose result the host needs to know what comes next: a recording of them is an error on a device."""


class Recording(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The operations of a function, which runs as it is recorded. Raises RuntimeError for one that waits."""

    def __init__(self, function: Callable[[], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls = list[tuple[Any, Any, Any, Any]]()
        self._made = set[int]()
        self._on_host = dict[int, torch.Tensor]()
        """Numbers that are no values of tensors, such as sizes, and what is computed from them."""
        with self:
            function()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        is_host = all(id(each) in self._on_host or (each.dim() == 0 and id(each) not in self._made) for each in given)
        if str(func).startswith(WAIT) and not is_host:
            raise RuntimeError(f"{func} waits for the device")
        result = func(*args, **(kwargs or {}))
        if given and is_host:
            self._on_host |= {id(each): each for each in tree_leaves(result) if isinstance(each, torch.Tensor)}
        self.calls.append((func, args, kwargs or {}, result))
        self._made |= {id(each) for each in tree_leaves(result)}
        return result

    @torch.inference_mode()
    def replay(self) -> None:
        for func, args, kwargs, result in self.calls:
            again = func(*args, **kwargs)
            for old, new in zip(tree_leaves(result), tree_leaves(again), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class RecordedRuns:
    """Calls of a function: the first as it is, the second recorded, then replays."""

    made = 0
    """Recordings of all functions."""
    replays = 0

    def __init__(self, function: Callable[[], None]) -> None:
        self.function, self.count = function, 0

    def __call__(self) -> None:
        self.count += 1
        if self.count == 1:
            self.function()
        elif self.count == 2:
            self.recording = Recording(self.function)
            assert self.recording.calls
            RecordedRuns.made += 1
        else:
            self.recording.replay()
            RecordedRuns.replays += 1
