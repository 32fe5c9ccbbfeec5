"""Protects spans of a sentence that a translation keeps byte for byte, and terms that a glossary translates."""
