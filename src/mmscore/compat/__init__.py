"""The doors of other frameworks, one file each."""
