"""EvalScope: its records, messages, media, releases and result files."""
