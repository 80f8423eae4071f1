"""The bytes of an image's file, with a note of which file they came from."""

import os
import stat

from mmconvert.core.errors import RowError, show
from mmconvert.storage.beneath import open_resolved
from mmconvert.storage.source_files import note_read_file


def read_image_file(place: str, text: str, limit: int) -> bytes:
    """Read the beginning of a file.

    Args:
        place: Its resolved path.
        text: What the source wrote for it, for messages.
        limit: Bytes that are read, and one more.

    Raises:
        RowError: `image.missing`: it cannot be read; `image.path`: it is no regular file.
    """
    try:
        handle = open_resolved(place)
    except OSError as error:
        raise _build_unreadable_error(error, text) from None
    return read_handle(handle, place, text, limit)


def read_handle(handle: int, place: str, text: str, limit: int) -> bytes:
    """Read the beginning of an open file as `read_image_file` does, and close it."""
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            raise RowError("image.path", "", f"not a regular file {show(text)}. Name the image's own file.")
        # A buffer of the limit's size would cost more than reading what is there.
        data = os.read(handle, min(before.st_size, limit) + 1)
        # Some file systems say that a file has no bytes, and a read may give a part of them.
        if len(data) != before.st_size and len(data) <= limit:
            with open(handle, "rb", closefd=False) as file:
                data += file.read(limit + 1 - len(data))
        note_read_file(place, before, os.fstat(handle))
        return data
    except OSError as error:
        raise _build_unreadable_error(error, text) from None
    finally:
        os.close(handle)


def _build_unreadable_error(error: OSError, text: str) -> RowError:
    message = f"the file cannot be read ({error.strerror}) {show(text)}. Repair it, or its permissions."
    return RowError("image.missing", "", message)
