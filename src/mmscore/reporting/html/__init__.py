"""The report as one HTML page: numbers, charts, and every row with what was read in it."""
