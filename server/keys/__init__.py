"""API keys: who may send requests, how many, and how many characters. Keys come from the settings, from a file that may
change, and from the store, which all replicas share."""
