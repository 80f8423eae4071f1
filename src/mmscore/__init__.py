"""Predictions in, the number each original kit would give out."""
