"""Contrastive test sets: whether the right translation is more probable than wrong ones."""
