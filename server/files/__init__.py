"""Files that clients send: opened and written in processes of their own, within limits."""
