"""Glossaries that are kept: made once, named by their id in later requests."""
