"""Chat turns and training rows: what formats of conversations share."""
