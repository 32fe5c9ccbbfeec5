"""Where documents are kept: memory, a SQLite file or Redis, behind one small interface."""
