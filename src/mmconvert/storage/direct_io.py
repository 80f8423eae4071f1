"""Writing to the disk past the page cache, where the system can (`O_DIRECT` of Linux).

The cache gains nothing from a file that is written once, and taking its pages from the system costs more than
the write itself where memory is scarce or lent, as in most virtual machines; whatever else the machine keeps
there stays. Blocks must be whole, and their memory begin with a page.
"""

import os

_DIRECT = getattr(os, "O_DIRECT", 0)


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
