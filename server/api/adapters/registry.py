"""All adapters. A new one is a file beside this one with a `router`, and its name here."""

from server.api.adapters import apertium, deeplx, imme, kiss, lingarr, mtran, nllb, ollama

ADAPTERS = (apertium, deeplx, imme, kiss, lingarr, mtran, nllb, ollama)
ROUTERS = tuple(adapter.router for adapter in ADAPTERS)
FOR_BROWSERS = ("/deeplx/", "/imme", "/kiss", "/mtran/", "/listPairs")
"""Beginnings of paths that clients in web pages of any origin use."""
