"""`ringmt`: the server's commands, and the entry points of other commands."""
