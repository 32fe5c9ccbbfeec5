"""OpenAI's chat API, for tools that speak nothing else: the last user message is what is translated."""
