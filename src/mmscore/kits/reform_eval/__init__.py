"""ReForm-Eval: evaluation and its log lines."""
