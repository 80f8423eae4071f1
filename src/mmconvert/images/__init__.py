"""Images: load, check, decode, draw."""
