"""Documents in which context decides, made from ordinary parallel text."""
