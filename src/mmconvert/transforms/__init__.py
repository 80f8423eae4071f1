"""One record in, several out, one file each."""
