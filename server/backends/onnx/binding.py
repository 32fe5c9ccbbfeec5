"""Binds step graphs to the memory of a running batch: to NumPy arrays on the CPU, else to values on the device."""

from collections.abc import Callable, Mapping, Sequence

import onnxruntime

from server.artifact.manifest import ArtifactError
from server.artifact.signature import LOG_PROBABILITY, Tensor
from server.backends.arrays import Array, Floats
from server.backends.base import input_arrays
from server.backends.memory import Encoded, HostMemory, Layout, Memory, turned
from server.backends.onnx.session import OnnxGraph
from server.backends.state import DecoderState

Run = Callable[[], onnxruntime.IOBinding]
"""One step. Returns its binding, which holds the outputs that are not written to an array."""


class DeviceMemory:
    """Memory as values on a device. Rings and recurrent tensors stay there. Source tensors and documents are written on
    the host and copied to the device before the next step."""

    keeps_rows = False
    runs_first_slots = False

    def __init__(self, host: HostMemory, device: str) -> None:
        self._host = host
        self.values: dict[str, onnxruntime.OrtValue] = {}
        self.odd: dict[str, onnxruntime.OrtValue] = {}
        for values, arrays in ((self.values, host.arrays), (self.odd, host.odd)):
            for name, array in arrays.items():
                values[name] = onnxruntime.OrtValue.ortvalue_from_shape_and_type(array.shape, array.dtype, device, 0)
        self._is_stale = False
        self._copy(host.arrays)
        self._copy_odd()

    @property
    def document(self) -> Mapping[str, Layout]:
        return self._host.document

    @property
    def ring_bytes(self) -> int:
        return self._host.ring_bytes

    @property
    def source_bytes(self) -> int:
        return self._host.source_bytes

    @property
    def arrays(self) -> Mapping[str, Array]:
        """The same tensors on the host. The contents of rings and recurrent tensors are not up to date."""
        return self._host.arrays

    def inputs(self, parity: int) -> dict[str, onnxruntime.OrtValue]:
        """See HostMemory.inputs."""
        return turned(self.values, self.odd, parity)

    def outputs(self, parity: int) -> dict[str, onnxruntime.OrtValue]:
        """See HostMemory.outputs."""
        return {f"next_{name}": value for name, value in turned(self.values, self.odd, 1 - parity).items()}

    def admit(self, slot: int, sentence: Encoded) -> None:
        self._host.admit(slot, sentence)
        self._is_stale = True

    def release(self, slot: int) -> None:
        self._host.release(slot)
        self._is_stale = self._is_stale or bool(self._host.document)

    def copy_slots(self, other: Memory, slots: Sequence[int]) -> None:
        assert isinstance(other, DeviceMemory)
        for name in self._host.names("ring", "recurrent"):
            other._host.arrays[name][:] = other.values[name].numpy()
        for name, value in other.odd.items():
            other._host.odd[name][:] = value.numpy()
        self._host.copy_slots(other._host, slots)
        self._copy(self._host.arrays)
        self._copy_odd()

    def refresh(self) -> None:
        """Copy source tensors and documents to the device, if they were written since the last step."""
        if self._is_stale:
            self._copy(self._host.names("source", "document"))
            self._is_stale = False

    def _copy(self, names: Mapping[str, Array] | Sequence[str]) -> None:
        for name in names:
            self.values[name].update_inplace(self._host.arrays[name])

    def _copy_odd(self) -> None:
        for name, array in self._host.odd.items():
            self.odd[name].update_inplace(array)


def bind_host(graph: OnnxGraph, state: DecoderState, memory: HostMemory) -> Run:
    """A step that copies nothing: it is bound once for each size of the batch and each parity of the clock (see
    DecoderState.inputs). Raises ArtifactError for tensors that this server does not know."""
    run = graph.session.run_with_iobinding
    bindings: dict[tuple[int, int], onnxruntime.IOBinding] = {}

    def bind(size: int, parity: int) -> onnxruntime.IOBinding:
        binding = graph.session.io_binding()
        arrays = input_arrays(graph.signature, {**state.inputs(parity), **memory.inputs(parity)}, graph.name)
        for name, array in first_slots(graph.signature.inputs, arrays, size).items():
            binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        written = {**state.outputs(parity), **memory.outputs(parity)}
        written = first_slots(graph.signature.outputs, written, size)
        _bind_outputs(binding, written, graph.signature.output_names)
        bindings[size, parity] = binding
        return binding

    def step() -> onnxruntime.IOBinding:
        size, parity = state.batch_size, state.clock % 2
        binding = bindings.get((size, parity)) or bind(size, parity)
        run(binding)
        return binding

    bind(state.batch_size, state.clock % 2)  # unknown tensors are an error now, not in a step
    return step


def first_slots(tensors: Sequence[Tensor], arrays: Mapping[str, Array], size: int) -> dict[str, Array]:
    """The arrays of `tensors`, those with an axis of slots cut to the first `size`: views, not copies."""
    return {
        tensor.name: arrays[tensor.name][:size] if tensor.axes[0] == "slot" else arrays[tensor.name]
        for tensor in tensors
        if tensor.name in arrays
    }


def bind_device(graph: OnnxGraph, state: DecoderState, memory: DeviceMemory) -> Run:
    """A step whose memory is bound once; rows are copied to the device and back in every step. (An array on the host is
    copied when it is bound, not when the graph runs.) Raises ArtifactError for tensors that this server does not
    know."""
    bindings, rows = [], []
    for parity in (0, 1):
        binding = graph.session.io_binding()
        arrays = input_arrays(graph.signature, {**state.inputs(parity), **memory.arrays}, graph.name)
        values = memory.inputs(parity)
        for name in arrays.keys() & values.keys():
            binding.bind_ortvalue_input(name, values[name])
        rows.append({name: array for name, array in arrays.items() if name not in memory.values})
        written = memory.outputs(parity)
        outputs = [name for name in graph.signature.output_names if name not in written]
        for name in written.keys() & set(graph.signature.output_names):
            binding.bind_ortvalue_output(name, written[name])
        _bind_outputs(binding, state.outputs(parity), outputs)
        bindings.append(binding)

    def step() -> onnxruntime.IOBinding:
        parity = state.clock % 2
        binding = bindings[parity]
        memory.refresh()
        for name, array in rows[parity].items():
            binding.bind_cpu_input(name, array)
        graph.session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        return binding

    return step


def _bind_outputs(binding: onnxruntime.IOBinding, arrays: Mapping[str, Array], outputs: Sequence[str]) -> None:
    """Bind outputs to arrays on the host; log-probabilities to memory that the runtime allocates."""
    for name in outputs:
        if name == LOG_PROBABILITY:
            binding.bind_output(name, "cpu")
            continue
        array = arrays.get(name)
        if array is None:
            raise ArtifactError(f"a step graph has the output {name}, which this server does not know")
        binding.bind_output(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)


def log_probabilities(binding: onnxruntime.IOBinding) -> Floats:
    """The log-probabilities of the step that has just run: its last output."""
    values: Floats = binding.get_outputs()[-1].numpy()
    return values
