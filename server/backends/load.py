"""Which runtime runs an artifact."""

from server.artifact import Artifact, ArtifactError
from server.backends.base import Backend


def load_backend(artifact: Artifact, backend: str, precision: str) -> Backend:
    """Open the artifact's graphs; a runtime is imported only when it is asked for. Raises ArtifactError."""
    match backend:
        case "onnx":
            from server.backends.onnx import OnnxBackend

            return OnnxBackend(artifact, precision)
        case "torchscript":
            from server.backends.torchscript import TorchScriptBackend

            return TorchScriptBackend(artifact, precision)
    raise ArtifactError(f"unknown backend '{backend}': onnx or torchscript")
