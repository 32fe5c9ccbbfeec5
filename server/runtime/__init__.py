"""The process: work in threads beside the event loop, CPU cores, heap memory, forced exit."""
