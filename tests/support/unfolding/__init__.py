"""Small files that unfold to much, and large ones of next to nothing, for tests of memory and time.

Each writer takes a folder and a size, writes one file and gives its path.
"""

from support.unfolding import parquet, pictures, tables, trees, workbooks
from support.unfolding.files import KB, MB, WRITERS
from support.unfolding.pictures import PICTURES, build_tiff

__all__ = ["KB", "MB", "PICTURES", "WRITERS", "build_tiff", "parquet", "pictures", "tables", "trees", "workbooks"]
