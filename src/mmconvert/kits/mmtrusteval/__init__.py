"""MMTrustEval: what its methods share."""
