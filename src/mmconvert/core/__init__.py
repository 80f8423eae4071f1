"""Records, errors and other basics, without knowledge of files or formats."""
