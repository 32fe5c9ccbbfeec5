"""The translation server: it serves artifacts, and knows nothing of how a model was trained."""
