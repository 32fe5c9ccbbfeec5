"""ONNX graphs: the exporter, edits of what it exports, and the choice of candidates, which is built node by node."""
