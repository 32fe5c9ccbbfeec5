"""Hostile inputs, one after the other, and what each costs the server and everybody else. See `__main__`."""
