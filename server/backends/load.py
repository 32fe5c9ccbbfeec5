"""Loads an artifact's graphs with a backend."""

from typing import Literal

from server.artifact.artifact import Artifact
from server.artifact.manifest import ArtifactError
from server.backends.base import Backend

UseShortlist = Literal["auto", "on", "off"]
BACKENDS = ("onnx", "torchscript")
"""Each runs the graphs of the format with its name."""


def load_backend(
    artifact: Artifact,
    backend: str,
    precision: str,
    shortlist: UseShortlist = "auto",
    device: Literal["cpu", "cuda"] = "cpu",
) -> Backend:
    """Load the artifact's graphs; imports the backend's runtime only. With `shortlist` auto, steps score a shortlist of
    words where the artifact has one. Raises ArtifactError."""
    if backend not in BACKENDS:
        raise ArtifactError(f"unknown backend '{backend}': {' or '.join(BACKENDS)}")
    use_shortlist = uses_shortlist(artifact, backend, precision, shortlist)
    if backend == "onnx":
        from server.backends.onnx.backend import OnnxBackend

        return OnnxBackend(artifact, precision, use_shortlist, device)
    if device != "cpu":
        raise ArtifactError(f"backend {backend} runs on the CPU only: serve with --backend onnx, or with --device cpu")
    from server.backends.torchscript import TorchScriptBackend

    return TorchScriptBackend(artifact, precision)


def uses_shortlist(artifact: Artifact, format: str, precision: str, setting: UseShortlist) -> bool:
    """Whether steps score a shortlist. Raises ArtifactError for `on` if the artifact has none."""
    has_shortlist = bool(artifact.manifest.graph(format, precision).step_shortlist)
    if setting == "on" and not has_shortlist:
        raise ArtifactError(
            f"artifact '{artifact.manifest.name}' has no shortlist for {format} {precision}: use shortlist auto or "
            "off, or export it from a checkpoint with a lexicon"
        )
    return has_shortlist and setting != "off"
