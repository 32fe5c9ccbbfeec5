"""`ringmt`: the commands of the server, and how commands of other packages are found."""
