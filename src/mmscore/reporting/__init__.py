"""Reports: console, JSON, notebook, HTML page, Hub cards."""
