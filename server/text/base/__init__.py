"""Words, vocabulary pieces and placeholders, which all rooms of `server.text` use."""
