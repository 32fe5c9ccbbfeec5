"""Attention mechanisms: one file for each mechanism of one paper."""
