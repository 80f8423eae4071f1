"""Text normalisers, tokenizers and n-grams that parsers and metrics share."""
