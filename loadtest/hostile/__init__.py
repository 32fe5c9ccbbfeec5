"""Sends hostile inputs one by one and measures their cost for the server and other clients. See `__main__`."""
