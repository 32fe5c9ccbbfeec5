"""Stores of documents and glossaries: memory, a SQLite file or Redis, behind one interface (`interface`,
`glossaries`)."""
