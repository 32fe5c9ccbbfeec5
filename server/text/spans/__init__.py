"""What is not language: the table of protected spans, row by row, and the search for all of them at once."""
