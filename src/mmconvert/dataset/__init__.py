"""Our parquet dataset: write, open, publish, verify."""
