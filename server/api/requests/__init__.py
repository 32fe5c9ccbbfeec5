"""Reads requests and writes answers: bodies, forms, keys, limits, errors. Knows nothing of a running server."""
