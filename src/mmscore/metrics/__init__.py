"""Pure functions on plain values, one file each."""
