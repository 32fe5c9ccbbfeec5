"""Single words: text that teaches them, and a test of how many are right."""
