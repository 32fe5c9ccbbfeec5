"""The backend of ONNX Runtime."""
