"""Where the per-part function runs, one file each."""
