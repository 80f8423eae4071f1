"""One file a protocol: how the replies of a dialog become the history of its later rounds."""
