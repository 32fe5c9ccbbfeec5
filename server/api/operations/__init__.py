"""For operators and people: probes, metrics, the API's documentation, the web page."""
