"""The only imports of onnxruntime and torch in the server."""

import os

# onnxruntime sends usage data to its vendor unless this is set before its first import.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
