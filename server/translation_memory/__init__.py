"""Translation memories: pairs that people confirmed, found again by equal and by similar sources."""
