"""A large file translated line by line by several servers, over HTTP only."""
