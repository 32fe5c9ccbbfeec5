"""Parts of Office files: read into lists of what can be translated, and written by replacing bytes of that alone."""
