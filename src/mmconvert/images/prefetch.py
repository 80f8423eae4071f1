"""Decode the images of rows ahead of whoever reads them, several at a time, rows in their order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from mmconvert.core.errors import Error, RowError
from mmconvert.core.multiprocess import count_usable_cores
from mmconvert.core.record import Image
from mmconvert.images.verify import verify_decoded

_MOST_THREADS = 4
"""Decoders of one process; there is a process a core already where files are large."""

_MOST_KNOWN = 100_000
"""Images whose digests are kept, so that one that comes again is not decoded again."""

_T = TypeVar("_T")


def decode_ahead(
    items: Iterable[_T], images: Callable[[_T], Iterable[Image]], again: Callable[[_T], _T]
) -> Iterator[_T]:
    """Give items on once their images have been decoded.

    Args:
        items: What carries images, some more of them in memory than whoever reads has asked for.
        images: Those of an item.
        again: Makes an item again that a decoder refused, so that it can say why in its own words.

    Yields:
        The items in order.

    Raises:
        Error: As `items`, behind the items that came before it.
    """
    threads = min(_MOST_THREADS, count_usable_cores())
    waiting: deque[tuple[_T, list[Future[bool]]]] = deque()
    source = iter(items)
    failure: Error | None = None
    good: dict[str, None] = {}

    def decodes(image: Image) -> bool:
        # Many questions show the same image.
        if image.sha256 in good:
            return True
        decoded = _decodes(image)
        if decoded and image.sha256 and len(good) < _MOST_KNOWN:
            good[image.sha256] = None
        return decoded

    with ThreadPoolExecutor(threads) as pool:
        more = True
        while more or waiting:
            while more and len(waiting) <= 2 * threads:
                try:
                    item = next(source)
                except StopIteration:
                    more = False
                except Error as error:
                    failure, more = error, False
                else:
                    waiting.append((item, [pool.submit(decodes, image) for image in images(item)]))
            if waiting:
                item, decoded = waiting.popleft()
                yield item if all(future.result() for future in decoded) else again(item)
    if failure is not None:
        raise failure


def _decodes(image: Image) -> bool:
    try:
        if image.bytes is not None:
            verify_decoded(image.bytes)
    except RowError:
        return False
    return True
