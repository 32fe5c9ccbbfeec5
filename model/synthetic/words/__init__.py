"""Single words: text to learn them from, and a test of how many are translated right."""
