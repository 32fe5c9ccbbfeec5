"""Functions with their own ONNX export (torch's `symbolic`), in place of PyTorch's trace.

A traced function becomes the operators that its lines call: the graph computes shapes again, and an operation for which
the runtime has one kernel becomes many nodes. A function with the decorator `with_symbolic` is exported by its symbolic
function.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import torch

P = ParamSpec("P")
R = TypeVar("R")
Symbolic = Callable[..., Any]
"""(graph under construction, values and plain arguments) -> value in the graph, like torch's `symbolic` methods."""


def with_symbolic(symbolic: Symbolic) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """While a graph is exported to ONNX, the decorated function of tensors is one operator, which `symbolic` writes;
    otherwise it is an ordinary function. Arguments must be positional, as the exporter requires."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        class Operator(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *arguments: Any) -> Any:
                with untraced():
                    result: Any = function(*arguments)  # type: ignore[call-arg]
                    # The tracer takes a view of a parameter for a constant, not for the operator's result.
                    return result.clone() if isinstance(result, torch.Tensor) and result.requires_grad else result

            @staticmethod
            def symbolic(graph: Any, *arguments: Any) -> Any:
                return symbolic(graph, *arguments)

        @functools.wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> R:
            if is_traced() and torch.onnx.is_in_onnx_export():
                return Operator.apply(*arguments)  # type: ignore[no-any-return, no-untyped-call]
            return function(*arguments, **named)

        return call

    return decorate


def cast_like(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """`x` in the precision of `like`. A trace for TorchScript keeps this rule, where `x.to(like.dtype)` casts to the
    precision of the example."""
    return x.to(like.dtype) if torch.onnx.is_in_onnx_export() else x.type_as(like)


def is_traced() -> bool:
    """Whether a graph is being traced, which other inputs than the example will run through."""
    return torch._C._get_tracing_state() is not None


@contextmanager
def untraced() -> Iterator[None]:
    """While the context is open, the tracer records nothing."""
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)  # type: ignore[attr-defined]


def constant(graph: Any, values: Any) -> Any:
    """A constant in the graph under construction."""
    return graph.op("Constant", value_t=torch.as_tensor(values))


def nothing(graph: Any) -> Any:
    """An optional input that is left out."""
    node = graph.op("prim::Constant")
    node.setType(torch._C.OptionalType.ofTensor())
    return node


def shaped(value: Any, like: Any, sizes: Sequence[int | None]) -> Any:
    """`value` with the element type of `like` and these sizes, None where they are free. The exporter cannot infer
    the shapes of unknown operators."""
    return value.setType(like.type().with_sizes(list(sizes)))


def sizes_of(value: Any) -> list[int | None]:
    """The sizes that the exporter knows, None where they are free."""
    sizes: list[int | None] = value.type().varyingSizes()
    return sizes
