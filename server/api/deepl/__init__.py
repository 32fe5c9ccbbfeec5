"""DeepL's API, under /v2 and /v3."""
