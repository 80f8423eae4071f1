"""Task files: plan, prepare and run datasets x models x recipes."""
