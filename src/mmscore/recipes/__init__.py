"""How one kit scores one kind of question, one file each."""
