"""Loads an artifact's graphs with a backend."""

from typing import Literal

from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError, Manifest
from server.backends.base import Backend
from server.runtime.huge_pages import huge_pages

UseShortlist = Literal["auto", "on", "off"]
HALF = ("fp16", "bf16")
BACKENDS = ("onnx", "torchscript")
"""Each runs the graphs of the format with its name."""


def load_backends(
    artifact: Artifact,
    backend: str,
    precision: str,
    shortlist: UseShortlist = "auto",
    devices: str = "cpu",
    threads: int = 1,
) -> list[Backend]:
    """`load_backend` for each of several devices, "cuda:0,cuda:1", or for one. Raises ArtifactError, also for a GPU
    that is named twice."""
    names = [name.strip() for name in devices.split(",")]
    if backend == "onnx" and len(names) > 1:
        raise ArtifactError(f"backend onnx runs on one device, not on {devices}: serve with --backend torchscript")
    loaded = dict[str, Backend]()
    for index, name in enumerate(names):
        each = load_backend(artifact, backend, precision, shortlist, name, threads)
        key = each.device.name if each.device.kind != "cpu" else f"cpu {index}"
        if key in loaded:
            raise ArtifactError(f"--device {devices} names {key} twice: one engine decodes on each GPU")
        loaded[key] = each
    return list(loaded.values())


def load_backend(
    artifact: Artifact,
    backend: str,
    precision: str,
    shortlist: UseShortlist = "auto",
    device: str = "cpu",
    threads: int = 1,
) -> Backend:
    """Load the artifact's graphs; imports the backend's runtime only. With `shortlist` auto, steps score a shortlist of
    words where the artifact has one. `device`: cpu, cuda, cuda:1, mps. Raises ArtifactError, also for a device that is
    not there: no other is taken in its place. `threads`: see OnnxBackend."""
    if backend not in BACKENDS:
        raise ArtifactError(f"unknown backend '{backend}': {' or '.join(BACKENDS)}")
    use_shortlist = uses_shortlist(artifact.manifest, backend, graph_precision(backend, precision), shortlist)
    if backend == "onnx":
        from server.backends.onnx.backend import OnnxBackend

        if device not in ("cpu", "cuda"):
            raise ArtifactError(
                f"backend onnx runs on the devices cpu and cuda, not on {device}: serve with --backend torchscript"
            )
        kind: Literal["cpu", "cuda"] = "cuda" if device == "cuda" else "cpu"
        with huge_pages():
            return OnnxBackend(artifact, precision, use_shortlist, kind, threads=threads)
    from server.backends.torchscript.backend import TorchScriptBackend

    return TorchScriptBackend(artifact, precision, device, use_shortlist=use_shortlist)


def graph_precision(backend: str, precision: str) -> str:
    """The precision of the graphs that are loaded: those of TorchScript are fp32 in the file, and take half precision
    when they are loaded."""
    return "fp32" if backend == "torchscript" and precision in HALF else precision


def uses_shortlist(manifest: Manifest, format: str, precision: str, setting: UseShortlist) -> bool:
    """Whether steps score a shortlist. Raises ArtifactError for `on` if the artifact has none."""
    has_shortlist = bool(manifest.graph(format, precision).step_shortlist)
    if setting == "on" and not has_shortlist:
        raise ArtifactError(
            f"artifact '{manifest.name}' has no shortlist for {format} {precision}: use shortlist auto or "
            "off, or export it from a checkpoint with a lexicon"
        )
    return has_shortlist and setting != "off"
