"""Stores of documents, glossaries, API keys and usage: memory, a SQLite file or Redis, behind one interface
(`interface`, `glossaries`, `keys`, `usage`)."""
