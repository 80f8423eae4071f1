"""How one kit words its prompt, one file each."""
