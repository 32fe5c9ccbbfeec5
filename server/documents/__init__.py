"""Documents: what is kept of them, and how their sentences are translated in the light of each other."""
