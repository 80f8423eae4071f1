"""Writing to the disk past the page cache, where the system can (`O_DIRECT` of Linux).

The cache gains nothing from a file that is written once, and taking its pages from the system costs more than
the write itself where memory is scarce or lent, as in most virtual machines; whatever else the machine keeps
there stays. Blocks must be whole, and their memory aligned.
"""

import mmap
import os

_DIRECT = getattr(os, "O_DIRECT", 0)


BLOCK = 2 << 20
"""Bytes of a block: few writes, and still near the processor when it is full."""

_idle: list[memoryview] = []


def take_block() -> memoryview:
    """Give `BLOCK` bytes of memory that begin with a page, such as were given back where there are any.

    Memory that nobody has touched yet is taken from the system page by page, which costs more than a write.
    """
    try:
        return _idle.pop()
    except IndexError:
        return memoryview(mmap.mmap(-1, BLOCK, access=mmap.ACCESS_COPY))


def give_back(block: memoryview) -> None:
    """Keep a block for the next file; nobody may use it any more."""
    _idle.append(block)


def set_direct(handle: int, on: bool) -> bool:
    """Switch an open file between direct writes and those through the cache.

    Returns:
        Whether writes are direct now; always False where the system or its file system cannot.
    """
    if not _DIRECT:
        return False
    import fcntl  # not on every system

    flags = fcntl.fcntl(handle, fcntl.F_GETFL)
    try:
        fcntl.fcntl(handle, fcntl.F_SETFL, flags | _DIRECT if on else flags & ~_DIRECT)
    except OSError:
        return False
    return on
