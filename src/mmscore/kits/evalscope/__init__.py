"""EvalScope: responses, words, aggregation and report."""
