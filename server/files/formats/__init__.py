"""File formats: which texts of a file are to be translated, and how the file is written with translations of them."""
