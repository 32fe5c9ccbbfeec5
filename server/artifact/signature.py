"""The inputs and outputs of graphs, as the manifest lists them: export writes them, backends bind by them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Role = Literal["row", "ring", "source", "document", "result"]
"""row: arrays of the beams' rows, on the host; ring: keys and values of the rows' own past; source: tensors of the
source sentence, its shortlist included; document: those of the sentences around it; result: outputs."""
Axis = str | int
"""A fixed size, or the name of a free one."""
LOG_PROBABILITY = "log_probability"
"""The output of a score graph: the log-probability of every word, [slot, beam, word]."""
ALIGNMENT = "alignment"
"""The output of an align graph: the weight of every source piece for every piece of a translation, [batch, piece,
source]."""


@dataclass(frozen=True)
class Tensor:
    """One tensor of a graph. `dtype` is NumPy's name."""

    name: str
    dtype: str
    axes: tuple[Axis, ...]
    role: Role

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape, with `sizes` for the free axes. Raises KeyError for a free axis without size."""
        return tuple(axis if isinstance(axis, int) else sizes[axis] for axis in self.axes)


@dataclass(frozen=True)
class Signature:
    """All tensors of one graph. An output `next_x` of a step continues its input `x`."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def input_names(self) -> list[str]:
        return [tensor.name for tensor in self.inputs]

    @property
    def output_names(self) -> list[str]:
        return [tensor.name for tensor in self.outputs]

    def names(self, role: Role) -> tuple[str, ...]:
        """The inputs of a role."""
        return tuple(tensor.name for tensor in self.inputs if tensor.role == role)


def parse_signature(values: Mapping[str, Any]) -> Signature:
    """Raises KeyError, TypeError or ValueError for values that are no signature."""
    inputs, outputs = (tuple(parse_tensor(one) for one in values[side]) for side in ("inputs", "outputs"))
    return Signature(inputs, outputs)


def parse_tensor(values: Mapping[str, Any]) -> Tensor:
    tensor = Tensor(**{**values, "axes": tuple(values["axes"])})
    if tensor.role not in get_args(Role):
        raise ValueError(f"tensor {tensor.name} has the unknown role '{tensor.role}'")
    return tensor
