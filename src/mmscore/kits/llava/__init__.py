"""LLaVA's evaluation scripts."""
