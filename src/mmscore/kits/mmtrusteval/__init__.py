"""MMTrustEval: its evaluators, their chains, its task log and the scores made from many logs."""
