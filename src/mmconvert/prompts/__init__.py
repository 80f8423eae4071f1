"""How one framework words its prompt, one file each."""
