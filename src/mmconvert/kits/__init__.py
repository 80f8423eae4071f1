"""What one framework alone knows and several plug-ins need: a folder a framework, which imports no other framework."""
