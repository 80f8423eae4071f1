"""A framework's lossy way to read a table, one file each, for parity only."""
