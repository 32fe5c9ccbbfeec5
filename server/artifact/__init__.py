"""The format of artifacts: export writes it, the server reads it."""
