"""What one framework's scores need and several plug-ins share; no folder here imports another."""
