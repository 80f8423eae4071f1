"""VLMEvalKit: LMUData tables, its dataset names, circular copies and images."""
