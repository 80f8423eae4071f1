"""Judge protocols, one file each."""
