"""Files: what is to be translated in them, and the same file with translations in its place."""
