"""VLMEvalKit: choices and rows."""
