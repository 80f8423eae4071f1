"""lmms-eval: rows of its tables."""
