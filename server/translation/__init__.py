"""Texts in, translations out: planning, searching, assembling; glossaries, alignment, two models, streams, scores."""
