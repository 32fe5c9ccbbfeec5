"""Cuts texts into sentences, and sentences into what a model can read."""
