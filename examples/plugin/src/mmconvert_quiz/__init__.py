"""Quiz files for mmconvert and mmscore."""
