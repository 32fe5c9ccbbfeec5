"""The HTTP API: routes, admission, schemas, and one table of errors."""
