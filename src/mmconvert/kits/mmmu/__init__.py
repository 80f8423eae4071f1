"""MMMU: its subjects and disciplines."""
