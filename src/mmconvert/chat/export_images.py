"""How a writer stores images: inside the file, by content name, or under the source's own names."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pybase64

from mmconvert.chat.file_names import make_portable_name
from mmconvert.core.errors import Error
from mmconvert.core.record import Image, Record
from mmconvert.images.loader import MIME_TYPES, SUFFIXES
from mmconvert.plugins.format import Loss, Target

_IS_WINDOWS = os.sep == "\\"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def drop_records_without_bytes(
    records: Iterable[Record], losses: list[Loss], stored: Callable[[Record], Iterable[Image]]
) -> Iterator[Record]:
    """Pass on the records whose images can be stored; those with a kept address are left out and named.

    Args:
        records: Any records.
        losses: Collects a loss for each record that is left out.
        stored: Gives the images of a record that the format stores.

    Yields:
        Records in order.
    """
    for record in records:
        address = next((image.url for image in stored(record) if image.bytes is None), None)
        if address is None:
            yield record
        else:
            message = f"the row is left out: the image {address} is only a URL and has no bytes."
            losses.append(Loss(record.id, "images", message, left_out=True))


def build_data_url(image: Image) -> str:
    """Write an image as a data URL, its bytes untouched.

    Raises:
        Error: The image has no bytes (a kept address).
    """
    return f"data:{MIME_TYPES[image.format]};base64,{encode_base64(image)}"


def encode_base64(image: Image) -> str:
    """Write an image as base64, its bytes untouched.

    Raises:
        Error: The image has no bytes (a kept address).
    """
    if image.bytes is None:
        message = (
            f"the image {image.url} is only a URL and has no bytes. Convert with --allow-remote, without --keep-urls."
        )
        raise Error(message)
    return pybase64.b64encode(image.bytes).decode()


def store_image(image: Image, target: Target) -> str:
    """Store an image the way the target asks for and say what stands for it in the file.

    Args:
        image: An image with bytes, or a kept address.
        target: `images` decides: `inline` gives a data URL; `files` writes `<sha256[:16]>.<ext>`;
            `original` writes the source's own name where it has one, else as `inline`.

    Returns:
        A data URL, an address, or a path relative to the image folder.

    Raises:
        Error: Two different images have the same original name.
    """
    if image.bytes is None and image.url is not None:
        return image.url
    return write_image_file(image, target) if as_files([image], target) else build_data_url(image)


def as_files(images: Sequence[Image], target: Target) -> bool:
    """Tell whether images shall be written as files.

    Under `original` an image without a name stood inside its source and goes back inside.
    """
    return target.images == "files" or (target.images == "original" and all(image.name for image in images))


def write_image_file(image: Image, target: Target, folder: str | Path | None = None) -> str:
    """Write an image into a folder, the target's own if none is given, and give its path inside; see `store_image`."""
    if image.bytes is None:
        message = (
            f"the image {image.url} is only a URL and has no bytes. Convert with --allow-remote, without --keep-urls."
        )
        raise Error(message)
    folder = folder or target.image_dir or target.path.parent
    name = image.name if target.images == "original" and image.name else None
    # A name of a record was checked when it was read, but a dataset may come from anywhere.
    if name and not Path(os.path.normpath(Path(folder, name))).is_relative_to(Path(os.path.normpath(folder))):
        raise Error(f"the image name {name!r} leaves the folder {folder}. Export with --images files.")
    if name and _IS_WINDOWS and any(part != make_portable_name(part) for part in name.split("/")):
        raise Error(f"the image name {name!r} cannot be a file's on Windows. Export with --images files.")
    name = name or f"{image.sha256[:16]}.{SUFFIXES[image.format]}"
    _write_once(os.path.join(folder, name), image.bytes)
    return name


def _write_once(path: str, data: bytes) -> None:
    try:
        _create(path, data)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _create(path, data)
    except FileExistsError:
        _complete(path, data)


def _create(path: str, data: bytes) -> None:
    # A file object looks at the file and takes a buffer, which costs an image as much as checking it.
    handle = os.open(path, _NEW_FILE, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
    finally:
        os.close(handle)


def _complete(path: str, data: bytes) -> None:
    """Take a file that is there; another process may be writing the same image, or have been killed while it did."""
    with open(path, "r+b") as file:
        found = file.read(len(data) + 1)
        if not data.startswith(found):
            raise Error(f"{path}: another image exists there. Give an empty --image-dir, or --images files.")
        file.write(data[len(found) :])


def write_image_path(image: Image, target: Target) -> str:
    """Write an image as a file for a format that knows nothing but paths, and give its path.

    Args:
        image: An image with bytes.
        target: `images` `inline` counts as `files`.

    Returns:
        The path inside `image_dir` where that is given; else from the folder of the output, where
        images without a name of their own lie in `images/`.

    Raises:
        Error: See `store_image`.
    """
    if target.image_dir is not None or (target.images == "original" and image.name):
        return write_image_file(image, target)
    return f"images/{write_image_file(image, target, os.path.join(os.path.dirname(target.path), 'images'))}"


reference = store_image  # the name that plug-ins know from before the first release
