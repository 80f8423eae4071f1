"""Videos that lie in an object store: copied to a file of this machine, since a decoder seeks in them."""

import posixpath
from collections.abc import Sequence

import msgspec

from mmconvert.core.errors import RowError, show
from mmconvert.storage.object_store import StoreCopy, StoreFolder


class StoredVideo(msgspec.Struct, frozen=True):
    """A copy of a video.

    Attributes:
        copy: Its bytes; rows about one video share it.
        url: Where it lies.
        name: Its path below the folder.
    """

    copy: StoreCopy
    url: str
    name: str


def open_stored_video(stores: Sequence[StoreFolder], text: str, limit: int) -> StoredVideo | None:
    """Copy the video that a source names.

    Args:
        stores: Folders of stores, in which it is looked up in order.
        text: What the source wrote.
        limit: Most bytes; one more is copied of a larger one.

    Returns:
        The copy; None where no store has it.

    Raises:
        RowError: `video.path`: the path leaves the folder.
        Error: As `StoreFolder.copy`.
    """
    name = posixpath.normpath(text)
    if stores and (name == ".." or name.startswith(("/", "../"))):
        message = f"the path leaves the folder of the store {show(text)}. Put the video inside it."
        raise RowError("video.path", "", message)
    for store in stores:
        copy = store.copy(name, limit)
        if copy is not None:
            return StoredVideo(copy, f"{store.url}/{name}", name)
    return None
