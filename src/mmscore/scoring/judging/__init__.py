"""Score with judge models: request, panel, runner."""
