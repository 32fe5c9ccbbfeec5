"""The translation server: requests and artifacts. Knows nothing of how a model was trained."""
