"""The papers behind RingMT as PyTorch modules, and how they are trained."""
