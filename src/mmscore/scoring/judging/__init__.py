"""Score with judge models: request, panel, jury."""
