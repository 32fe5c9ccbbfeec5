"""The process: work beside the event loop, processor cores, memory given back, an end that comes in time."""
