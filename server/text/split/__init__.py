"""Splits texts into sentences, and sentences into parts that a model can read."""
