"""RingMT's own API, under /v1."""
