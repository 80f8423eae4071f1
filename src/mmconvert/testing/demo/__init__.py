"""What `mmconvert demo` needs beyond the product itself."""
