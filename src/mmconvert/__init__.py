"""Files of any multimodal kit in, one Arrow schema out."""

__version__ = "0.1.0"
