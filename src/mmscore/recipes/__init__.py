"""How one framework scores one kind of question, one file each."""
