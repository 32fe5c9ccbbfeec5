"""Probes, metrics, the API's documentation, the web page."""
