"""Memory that is taken again and again.

Memory that nobody has touched yet is taken from the system page by page, which costs more than filling it.
"""

import contextlib
import mmap
import weakref

import pyarrow as pa

_LEAST, _MOST = mmap.PAGESIZE, 64 << 20
_WASTE = 16
"""How many times as large as need be memory may be that is idle: a small column may be kept, and all of it with it."""
_HUGE, _HUGE_PAGE = getattr(mmap, "MADV_HUGEPAGE", None), 2 << 20
"""Large pages are taken from the system with less work, and passed over faster."""
_idle: dict[int, list[mmap.mmap]] = {}


def take(size: int) -> pa.Buffer:
    """Give memory that begins with a page; what it holds is anything.

    When the buffer and all that was made of it is gone, it is there for others; more than 64 MiB go back to the system.

    Args:
        size: Bytes.
    """
    room = max(_LEAST, 1 << max(0, size - 1).bit_length())
    room = next((each for each in sorted(_idle) if room <= each <= _WASTE * room and _idle[each]), room)
    idle = _idle.setdefault(room, [])
    try:
        block = idle.pop()
    except IndexError:
        block = mmap.mmap(-1, room, access=mmap.ACCESS_COPY)
        if _HUGE is not None and room >= _HUGE_PAGE:
            with contextlib.suppress(OSError):  # a system may have none
                block.madvise(_HUGE)
    view = memoryview(block)[:size]
    if room <= _MOST:
        weakref.finalize(view, idle.append, block).atexit = False
    # A slice of the view would not keep the view; what is made of an Arrow buffer keeps that.
    return pa.py_buffer(view)
