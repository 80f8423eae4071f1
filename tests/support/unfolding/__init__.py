"""Small files that unfold to much, and large ones of next to nothing, for tests of memory and time.

Each writer takes a folder and a size, writes one file and gives its path.
"""

from support.unfolding import images, parquet, tables, trees, workbooks
from support.unfolding.files import KB, MB, WRITERS
from support.unfolding.images import IMAGE_KINDS, build_tiff

__all__ = ["IMAGE_KINDS", "KB", "MB", "WRITERS", "build_tiff", "images", "parquet", "tables", "trees", "workbooks"]
