"""The release of both packages."""

__version__ = "0.1.0"
