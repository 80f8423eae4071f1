"""Text of questions and options: placeholders, markers, literals, turns."""
