"""The only imports of onnxruntime and torch in the server."""

import os

# onnxruntime reports usage to its makers unless told not to before it is first imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
