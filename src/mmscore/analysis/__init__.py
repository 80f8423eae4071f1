"""Compare, explain, rank and bundle scored predictions."""
