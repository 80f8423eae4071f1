"""What one kit alone knows and several plug-ins need: a folder a kit, which imports no other kit."""
