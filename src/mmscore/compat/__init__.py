"""The doors of other kits, one file each."""
