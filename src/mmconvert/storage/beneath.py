"""Files opened by a path that has no links: none that stands there now, and none that takes a folder's place meanwhile.

Whoever resolves the links of a path, finds it inside a folder and opens it then, may be led out of the folder by a
link that came in between. Here every name of the path is opened below the one before, and none of them may be a link.
"""

import errno
import os

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
