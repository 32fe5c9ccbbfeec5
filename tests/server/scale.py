"""The scale of chaos tests."""

import os

SCALE = int(os.environ.get("CHAOS_SCALE", "1"))
"""1 in the suite: seconds. 100 in `make chaos`: 10,000 equal requests, 2,000 cancelled ones, an hour or so."""
