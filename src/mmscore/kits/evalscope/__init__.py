"""EvalScope: replies, words, aggregation and report."""
