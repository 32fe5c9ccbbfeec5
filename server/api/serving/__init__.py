"""What a running server holds: models, files, the state of loading and draining."""
