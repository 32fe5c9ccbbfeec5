"""Which runtime runs an artifact."""

from typing import Literal

from server.artifact import Artifact, ArtifactError
from server.backends.base import Backend

UseShortlist = Literal["auto", "on", "off"]


def load_backend(artifact: Artifact, backend: str, precision: str, shortlist: UseShortlist = "auto") -> Backend:
    """Open the artifact's graphs; a runtime is imported only when it is asked for. `shortlist` auto scores a shortlist
    of words where the artifact has one. Raises ArtifactError."""
    match backend:
        case "onnx":
            from server.backends.onnx import OnnxBackend

            return OnnxBackend(artifact, precision, uses_shortlist(artifact, backend, precision, shortlist))
        case "torchscript":
            from server.backends.torchscript import TorchScriptBackend

            uses_shortlist(artifact, backend, precision, shortlist)
            return TorchScriptBackend(artifact, precision)
    raise ArtifactError(f"unknown backend '{backend}': onnx or torchscript")


def uses_shortlist(artifact: Artifact, backend: str, precision: str, wanted: UseShortlist) -> bool:
    """Whether these graphs are run over a shortlist. Raises ArtifactError when one is wanted that is not there."""
    has_one = bool(artifact.manifest.graph(backend, precision).step_shortlist)
    if wanted == "on" and not has_one:
        raise ArtifactError(
            f"artifact '{artifact.manifest.name}' has no shortlist for {backend} {precision}: use shortlist auto or "
            "off, or export it from a checkpoint with a lexicon"
        )
    return has_one and wanted != "off"
