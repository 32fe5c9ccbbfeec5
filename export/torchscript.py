"""Writes graphs as TorchScript; they are traced, since no branch in them depends on data.

They are traced at bf16 and written at fp32. A cast that changes nothing is lost in a trace: so every cast between fp32,
in which softmax and probabilities are computed, and the precision of the weights is recorded as such. A server may
therefore run them at fp32, fp16 or bf16.

A file holds the graph's signature, since tensors of a trace have no names, and the weights that the graph reads. Those
that `encode` or `step` have are in no other file: the others name them (server/backends/torchscript/graph.py).
"""

import copy
import dataclasses
import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from export.onnx_graph.exporter import Axes, Traceable
from export.signature import TRACED, tensor
from server.artifact.signature import Signature
from server.artifact.signature import Tensor as SignatureTensor
from server.backends.torchscript.graph import SHARED

SHARED_SIZE = 256
"""Elements of a tensor from which it is shared."""


class FlatArguments(nn.Module):
    """A module over one list: `arguments`, tensors and lists of tensors, show how the list is cut."""

    def __init__(self, module: nn.Module, arguments: Sequence[object]) -> None:
        super().__init__()
        self.graph = module
        self._lengths = [len(each) if isinstance(each, list) else None for each in arguments]

    def forward(self, tensors: list[Tensor]) -> list[Tensor]:
        arguments, start = list[object](), 0
        for length in self._lengths:
            arguments.append(tensors[start] if length is None else tensors[start : start + length])
            start += 1 if length is None else length
        result = self.graph(*arguments)
        return [result] if isinstance(result, Tensor) else result


class FlatStep(nn.Module):
    """A graph of a step's tensors by name (export.graphs.StepGraph) over one list, in the order of a signature."""

    def __init__(self, graph: nn.Module, signature: Signature) -> None:
        super().__init__()
        self.graph, self.names, self.given = graph, signature.input_names, signature.output_names

    def forward(self, tensors: list[Tensor]) -> list[Tensor]:
        result = self.graph(dict(zip(self.names, tensors, strict=True)))
        return [result[name] for name in self.given]


class OneModule(nn.Module):
    """A module whose tensors are all its own, "a.b" as "a/b": torch.jit.trace copies every submodule, which takes
    longer than the trace. The tracer knows a tensor wherever it is read."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._whole = (module,)  # a tuple is no submodule
        for name, weight in tensors_of(module):
            if isinstance(weight, nn.Parameter):
                self.register_parameter(flat(name), weight)
            else:
                self.register_buffer(flat(name), weight)

    def forward(self, tensors: list[Tensor]) -> list[Tensor]:
        result: list[Tensor] = self._whole[0](tensors)
        return result

    def lists(self, tensors: list[Tensor]) -> list[Tensor]:
        result: list[Tensor] = self._whole[0].lists(tensors)  # type: ignore[operator]
        return result

    def widen(self, tensors: list[Tensor]) -> list[Tensor]:
        result: list[Tensor] = self._whole[0].widen(tensors)  # type: ignore[operator]
        return result


def flat(name: str) -> str:
    """The name of a submodule's tensor in OneModule."""
    return name.replace(".", "/")


def tensors_of(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """All parameters and buffers, a shared one under each of its names."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


NO_METHODS: Mapping[str, Sequence[Tensor]] = {}


class TraceWriter:
    """Writes traces of one model to a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owned: dict[tuple[object, ...], tuple[str, str]] = {}
        """Content of a weight -> the graph that has it, and its name there."""

    def resume(self, owner: str, file: str) -> None:
        """Share the weights of a graph that was written before, "encode" or "step", with the graphs that follow."""
        for name, weight in tensors_of(read_trace(self._folder / file)):
            if weight.numel() >= SHARED_SIZE:
                self._owned.setdefault(content_of(weight), (owner, name))

    def write(
        self,
        file: str,
        module: nn.Module,
        arguments: Sequence[Tensor],
        signature: Signature,
        owner: str = "",
        methods: Mapping[str, Sequence[Tensor]] = NO_METHODS,
    ) -> None:
        """Write the trace of a module over one list; its tensors that are kept at the precision of the weights are
        given at bf16. The weights of an `owner`, "encode" or "step", are shared with the graphs that follow. `methods`:
        the arguments of the module's other methods, "lists" and "widen"."""
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of retirement, and of comparisons of shapes, which are traced on purpose
            half = OneModule(copy.deepcopy(module).bfloat16().eval())
            given = {"forward": (list(arguments),)} | {name: (list(each),) for name, each in methods.items()}
            traced: Any = torch.jit.trace_module(half, given, check_trace=False, strict=False)  # type: ignore[no-untyped-call]
            traced = traced.float()
            exact, shared = {flat(name): weight for name, weight in tensors_of(module)}, dict[str, tuple[str, str]]()
            graphs = [traced._c._get_method(name).graph for name in given]  # nodes are valid as long as theirs is held
            read = {node.s("name") for lines in graphs for node in lines.findAllNodes("prim::GetAttr")}
            for name, weight in list(tensors_of(traced)):
                weight.data.copy_(exact[name].data)
                if name in read and weight.numel() < SHARED_SIZE:
                    continue
                content = content_of(weight)
                if name in read and content in self._owned and not owner:
                    shared[name] = self._owned[content]
                elif name in read:
                    if owner:
                        self._owned.setdefault(content, (owner, name))
                    continue
                traced._c.setattr(name, torch.zeros(0, dtype=weight.dtype))
            written = {TRACED: json.dumps(dataclasses.asdict(signature))}
            written |= {SHARED: json.dumps(shared)} if shared else {}
            traced.save(str(self._folder / file), _extra_files=written)

    def write_module(self, file: str, traceable: Traceable, owner: str = "") -> None:
        """Write a module that is described as for ONNX."""
        module, given, inputs, outputs = traceable
        arguments: list[Any] = [each for part in given for each in (part if isinstance(part, list) else [part])]
        whole = FlatArguments(module, given)
        with torch.no_grad():
            results = whole.eval()(arguments)
        signature = Signature(described(inputs, arguments), described(outputs, results))
        self.write(file, whole, [at_half(each) for each in arguments], signature, owner)


def read_trace(path: Path) -> Any:
    """The module of a file, at fp32; weights that it shares are empty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit warns of its deprecation at every load
        return torch.jit.load(str(path), map_location="cpu")  # type: ignore[no-untyped-call]


def content_of(weight: Tensor) -> tuple[object, ...]:
    """The same for equal weights."""
    return weight.dtype, weight.shape, hashlib.sha256(weight.detach().numpy().tobytes()).digest()


def at_half(x: Tensor) -> Tensor:
    return x.bfloat16() if x.is_floating_point() else x


def described(axes: Axes, tensors: Sequence[Tensor]) -> tuple[SignatureTensor, ...]:
    """The tensors of a signature: the free axes have names, the others the sizes of the examples."""
    return tuple(
        tensor(
            name,
            str(example.dtype).removeprefix("torch."),
            *((free[index : index + 1] or (None,))[0] or size for index, size in enumerate(example.shape)),
        )
        for (name, free), example in zip(axes.items(), tensors, strict=True)
    )
