"""LibreTranslate's API, at the root."""
