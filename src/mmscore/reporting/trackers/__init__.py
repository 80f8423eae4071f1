"""Trackers of experiments, a file each with the constant `TRACKER`."""
