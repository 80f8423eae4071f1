"""ReForm-Eval: families, loaders, dialogues and instruction pools."""
