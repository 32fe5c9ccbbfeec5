"""Words, pieces of words, and placeholders: what all work on texts has in common."""
