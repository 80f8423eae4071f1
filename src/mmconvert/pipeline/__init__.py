"""Convert, export and check files: read, run in parallel, write."""
