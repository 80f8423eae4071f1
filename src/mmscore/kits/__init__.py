"""What one kit's scores alone need and several plug-ins share: a folder a kit, which imports no other kit."""
