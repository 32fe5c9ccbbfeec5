"""Corpora, vocabulary and batches."""
