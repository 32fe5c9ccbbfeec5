"""Load tests over HTTP."""
