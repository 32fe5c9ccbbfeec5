"""Importers: checkpoints that others trained become RingMT's models."""
