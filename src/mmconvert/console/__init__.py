"""What both programs share at the terminal."""
