"""Score predictions: evaluate, group, bootstrap, sign."""
