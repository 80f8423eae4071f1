"""One file a protocol: how the responses of a conversation become the history of its later rounds."""
