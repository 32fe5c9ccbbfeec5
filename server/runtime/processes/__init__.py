"""Several worker processes that are one server: a supervisor, what the processes share, and how they reach each other.

Linux only: it needs pidfds, a signal at the death of the parent, and sockets that are passed between processes."""
