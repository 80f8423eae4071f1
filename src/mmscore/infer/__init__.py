"""Fill the prediction column."""
