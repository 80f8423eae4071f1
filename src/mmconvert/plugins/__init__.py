"""The plug-in registry and the contracts of formats and transforms."""
