"""Translates a large file line by line with several servers, over HTTP only."""
