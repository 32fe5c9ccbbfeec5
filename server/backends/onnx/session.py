"""Loads ONNX graphs: with session options, on a device, and only if they have the tensors that the manifest lists."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import onnxruntime

from server.artifact.artifact import Artifact
from server.artifact.manifest import EXPORT_AGAIN, ArtifactError
from server.artifact.signature import Signature
from server.backends.arrays import Array
from server.backends.device import CPU

Device = Literal["cpu", "cuda"]
DEVICES = {"cpu": CPU, "cuda": dataclasses.replace(CPU, kind="cuda", description="CUDA")}
"""What the engine does on each: measured on the CPU only."""
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


@dataclass(frozen=True)
class OnnxGraph:
    """A session, and the tensors that the manifest lists for it. Runs may overlap."""

    name: str
    session: onnxruntime.InferenceSession
    signature: Signature

    def run(self, outputs: list[str], feeds: Mapping[str, Array]) -> list[Array]:
        """Run over arrays on the host; `feeds` may have more arrays than the graph reads. Returns `outputs` in their
        order."""
        results: list[Array] = self.session.run(outputs, {name: feeds[name] for name in self.signature.input_names})
        return results


def open_graph(artifact: Artifact, file: str, device: Device = "cpu", threads: int = 1) -> OnnxGraph:
    """Raises ArtifactError for a graph that cannot be loaded or has other tensors than the manifest lists, and for a
    device that does not exist."""
    signature = artifact.manifest.signature(file)
    session = open_session(artifact, file, device, session_options(threads))
    for listed, present in (
        (signature.input_names, session.get_inputs()),
        (signature.output_names, session.get_outputs()),
    ):
        other = set(listed) ^ {tensor.name for tensor in present}
        if other:
            raise ArtifactError(
                f"artifact {artifact.folder}: {file} and its manifest disagree about {', '.join(sorted(other))}: "
                f"{EXPORT_AGAIN}"
            )
    return OnnxGraph(file, session, signature)


SLOW_OPTIMIZERS = ("SkipLayerNormFusion", "BiasSkipLayerNormFusion")
"""The fused Add + LayerNormalization kernel is several times slower on CPUs than the two nodes that it replaces."""


def session_options(threads: int = 1) -> onnxruntime.SessionOptions:
    """`threads` compute each kernel of a run together, and sleep between kernels: threads that spin instead take the
    cores of other programs, and then wait for them."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    return options


def open_session(
    artifact: Artifact, file: str, device: Device, options: onnxruntime.SessionOptions | None = None
) -> onnxruntime.InferenceSession:
    """A session of one graph, by default with `session_options`."""
    check_available(device)
    providers = list(dict.fromkeys((PROVIDERS[device], PROVIDERS["cpu"])))
    try:
        session = onnxruntime.InferenceSession(
            str(artifact.path(file)),
            options or session_options(),
            providers=providers,
            disabled_optimizers=list(SLOW_OPTIMIZERS),
        )
    except Exception as error:  # the runtime's own exceptions share no public base class
        raise ArtifactError(f"onnxruntime cannot load {artifact.path(file)}: {error}") from error
    if PROVIDERS[device] not in session.get_providers():
        raise ArtifactError(
            f"onnxruntime has the {device} provider but could not start it, and would run {file} on the CPU: check the "
            "driver and the CUDA libraries, or serve with --device cpu"
        )
    return session


def open_optimized(model: bytes) -> onnxruntime.InferenceSession:
    """A session of a graph whose nodes run as they are."""
    options = session_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=[PROVIDERS["cpu"]])


def check_available(device: Device) -> None:
    """Raise ArtifactError where the installed onnxruntime has no provider for the device."""
    available = onnxruntime.get_available_providers()
    if PROVIDERS[device] not in available:
        raise ArtifactError(
            f"this onnxruntime knows no device {device} (it has {', '.join(available)}): install onnxruntime-gpu, "
            "or serve with --device cpu"
        )
