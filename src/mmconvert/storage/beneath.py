"""Files opened by a path that has no links: none that stands there now, and none that takes a folder's place meanwhile.

Whoever resolves the links of a path, finds it inside a folder and opens it then, may be led out of the folder by a
link that came in between. Here no name of the path may be a link: the system refuses it, or every name is opened below
the one before.
"""

import ctypes
import errno
import os
import sys

_WALKS = {os.open} <= os.supports_dir_fd
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""A pipe or a device must not be waited for."""
# What Linux calls a path needs no more than the right to pass through the folder.
_FOLDER = _FILE | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)


def open_resolved(place: str) -> int:
    """Open a file for reading by an absolute path that has no links.

    Args:
        place: The path, without `..`: one that was resolved, or of which is hoped that it has no links.

    Returns:
        The handle, for `os.close`.

    Raises:
        OSError: There is no such file, it may not be read, or a link stands in the path.
    """
    return _walk(place) if _WALKS else _open_and_compare(place)


def _walk(place: str) -> int:
    if not place.startswith("/"):
        raise OSError(errno.EINVAL, "no absolute path", place)
    if (handle := _without_links(place)) is not None:
        return handle
    *folders, name = place.split("/")[1:]
    above = os.open("/", _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=above)
            os.close(above)
            above = below
        return os.open(name or ".", _FILE, dir_fd=above)
    finally:
        os.close(above)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class _OpenAt2:
    """Opens a file in one step, where the system has `openat2` (Linux 5.6): less work than a walk.

    Source: openat2(2) of Linux man-pages 6; the number is that of every architecture.
    """

    _NUMBER, _HERE, _NO_SYMLINKS = 437, -100, 0x04

    def __init__(self) -> None:
        self._how = _How(_FILE, 0, self._NO_SYMLINKS)
        self._at, self._size = ctypes.byref(self._how), ctypes.sizeof(_How)
        self._call = ctypes.CDLL(None, use_errno=True).syscall if sys.platform == "linux" else None
        if self._call is not None:
            arguments = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
            self._call.argtypes, self._call.restype = arguments, ctypes.c_long

    def __call__(self, place: str) -> int | None:
        """Open a file by a path without links; None where the system cannot, or a sandbox does not let it."""
        if self._call is None:
            return None
        if "\0" in place:
            raise ValueError("embedded null byte")
        handle = self._call(self._NUMBER, self._HERE, os.fsencode(place), self._at, self._size)
        if handle >= 0:
            return int(handle)
        number = ctypes.get_errno()
        if number in (errno.ENOSYS, errno.EPERM):
            self._call = None
            return None
        raise OSError(number, os.strerror(number), place)


_without_links = _OpenAt2()


def _open_and_compare(place: str) -> int:
    """Open a file where no name can be opened below another, and look whether the path is without links then."""
    handle = os.open(place, _FILE | getattr(os, "O_BINARY", 0))
    try:
        if os.path.realpath(place) == place and os.path.samestat(os.fstat(handle), os.stat(place)):
            return handle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), place)
    except OSError:
        os.close(handle)
        raise
