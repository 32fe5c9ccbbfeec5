"""How every ONNX graph is opened."""

from pathlib import Path

import onnxruntime

from server.artifact import ArtifactError


def open_session(path: Path, model: bytes | None = None) -> onnxruntime.InferenceSession:
    """A session for one thread at a time per run; parallelism comes from several workers (twice as fast on two
    cores as one session with two threads, because a step's matrices are small). `model`: the graph to open instead of
    the file's; its weights lie beside the file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    if model is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
    # The fused Add + LayerNormalization kernel is several times slower on CPUs than the two nodes that it replaces.
    slow = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]
    try:
        return onnxruntime.InferenceSession(
            str(path) if model is None else model, options, providers=["CPUExecutionProvider"], disabled_optimizers=slow
        )
    except Exception as error:  # the runtime's own exceptions share no public base class
        raise ArtifactError(f"onnxruntime cannot load {path}: {error}") from error
