"""Shapes of requests that single clients send, each in a file of its own."""
