"""Contrastive test sets: is the right translation more probable than the wrong ones?"""
