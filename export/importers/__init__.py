"""Other people's checkpoints as RingMT's models."""
