"""MME: points and categories."""
