"""VLMEvalKit: choices, rows, and what a judge is asked and says."""
