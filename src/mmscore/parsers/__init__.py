"""Ways to read an answer out of text, one file each."""
