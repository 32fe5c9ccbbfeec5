"""Between uvicorn and the application: limits on connections, and how answers are written to them."""
