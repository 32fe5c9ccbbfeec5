"""Kinds of attention that a configuration can name: the kind NAME is the file NAME.py, one mechanism of one paper."""
