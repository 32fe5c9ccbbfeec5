"""Words, vocabulary pieces and placeholders, which all packages of `server.text` use."""
