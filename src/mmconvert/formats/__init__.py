"""File formats, one file each, reader and writer."""
