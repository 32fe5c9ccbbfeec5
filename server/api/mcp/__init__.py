"""The Model Context Protocol: tools with which language models translate."""
