"""Load predictions files and join references to them."""
