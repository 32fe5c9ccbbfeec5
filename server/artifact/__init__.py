"""The format of artifacts, which export writes and the server reads."""
