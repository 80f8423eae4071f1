"""A kit's lossy way to read a table, one file each, for parity only."""
