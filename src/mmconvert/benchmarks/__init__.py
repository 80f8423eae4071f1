"""Benchmarks by name: where their data is, and how it is read, prompted and scored. Data, a file a framework."""
