"""Opens an artifact's graphs in the runtime that was asked for."""

from typing import Literal

from server.artifact.artifact import Artifact, ArtifactError
from server.backends.base import Backend

UseShortlist = Literal["auto", "on", "off"]
BACKENDS = ("onnx", "torchscript")
"""Each runs graphs of the format of its name."""


def load_backend(
    artifact: Artifact,
    backend: str,
    precision: str,
    shortlist: UseShortlist = "auto",
    device: Literal["cpu", "cuda"] = "cpu",
) -> Backend:
    """Open the artifact's graphs. A runtime is imported only when it is asked for. With `shortlist` auto, steps score a
    shortlist of words where the artifact has one. Raises ArtifactError."""
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


def uses_shortlist(artifact: Artifact, format: str, precision: str, wanted: UseShortlist) -> bool:
    """Whether steps score a shortlist. Raises ArtifactError when one is wanted and the artifact has none."""
    has_one = bool(artifact.manifest.graph(format, precision).step_shortlist)
    if wanted == "on" and not has_one:
        raise ArtifactError(
            f"artifact '{artifact.manifest.name}' has no shortlist for {format} {precision}: use shortlist auto or "
            "off, or export it from a checkpoint with a lexicon"
        )
    return has_one and wanted != "off"
