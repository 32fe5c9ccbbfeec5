"""Texts: sentences and the gaps between them, ids and back, without losing a byte."""
