"""MMMU: grading and the seeded fallback."""
