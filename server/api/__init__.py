"""The HTTP door: JSON in, JSON out, and one table of errors."""
