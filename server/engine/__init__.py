"""Continuous batching: sentences join and leave a running beam search at every step."""
