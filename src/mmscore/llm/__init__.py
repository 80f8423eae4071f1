"""Client for OpenAI-compatible API servers, with response cache and budget."""
