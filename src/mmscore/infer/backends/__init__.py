"""What answers a batch of records, one file each."""
