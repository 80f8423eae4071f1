"""Fetch and decode the images of rows ahead of whoever reads them, several at a time, rows in their order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from mmconvert.core.errors import RowError
from mmconvert.core.multiprocess import count_usable_cores
from mmconvert.core.record import Image
from mmconvert.images.verify import verify_decoded
from mmconvert.storage.fetcher import Fetcher

_MOST_THREADS = 4
"""Decoders of one process; there is a process a core already where files are large."""

_MOST_KNOWN = 100_000
"""Images whose digests are kept, so that one that comes again is not decoded again."""

_ROWS_AHEAD = 256
"""Rows whose images are being fetched; more than are under way at once, for some hosts are slow."""

MOST_ROW_BYTES = 64 << 20
"""Bytes of texts or images that rows may hold together that are read ahead."""

_T = TypeVar("_T")
_Begun = TypeVar("_Begun")


def fetch_ahead(
    items: Iterable[_T], list_addresses: Callable[[_T], Sequence[str]], fetcher: Fetcher, most: int | None
) -> Iterator[_T]:
    """Give items on while the images of those behind them are fetched.

    Args:
        items: What has images at addresses.
        list_addresses: Those of an item.
        fetcher: Fetches them; an item's addresses are released when the next item is asked for.
        most: Items of which somebody will ask for no more, None for all.

    Yields:
        The items in order.

    Raises:
        Error: As `items`, behind the items that came before it.
    """
    ahead = min(_ROWS_AHEAD, most or _ROWS_AHEAD)

    def ask(item: _T) -> Sequence[str]:
        addresses = list_addresses(item)
        for address in addresses:
            fetcher.ask(address)
        return addresses

    for item, addresses in begin_ahead(items, ask, lambda rows, held: rows < ahead and held < MOST_ROW_BYTES):
        yield item
        for address in addresses:
            fetcher.release(address)


def begin_ahead(
    items: Iterable[_T],
    begin: Callable[[_T], _Begun],
    has_room: Callable[[int, int], bool],
    measure: Callable[[_T], int] | None = None,
) -> Iterator[tuple[_T, _Begun]]:
    """Give items on in their order while work for those behind them has begun.

    Args:
        items: The items.
        begin: Begins with the work for an item.
        has_room: Whether there is room for one more, by the items that wait and their bytes; there always is for one.
        measure: Tells the bytes of an item; None for those of its texts.

    Yields:
        Items, each with what `begin` gave for it.

    Raises:
        Exception: As `items`, behind the items that came before it.
    """
    measure = measure or measure_texts
    waiting: deque[tuple[_T, _Begun, int]] = deque()
    source, more, held = iter(items), True, 0
    failure: Exception | None = None
    while more or waiting:
        while more and (not waiting or has_room(len(waiting), held)):
            try:
                item = next(source)
            except StopIteration:
                more = False
            except Exception as error:
                failure, more = error, False
            else:
                waiting.append((item, begin(item), size := measure(item)))
                held += size
        if waiting:
            item, begun, size = waiting.popleft()
            held -= size
            yield item, begun
    if failure is not None:
        raise failure


def measure_texts(value: Any) -> int:
    """Count about how many bytes the texts in a value take."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(map(measure_texts, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(measure_texts, value))
    fields = getattr(value, "fields", None)
    return measure_texts(fields) if isinstance(fields, dict) else 0


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

        def begin(item: _T) -> list[Future[bool]]:
            return [pool.submit(decodes, image) for image in images(item)]

        def has_room(rows: int, held: int) -> bool:
            return rows <= (4 if held < MOST_ROW_BYTES else 2) * threads

        def measure(item: _T) -> int:
            return sum(len(image.bytes or b"") for image in images(item))

        for item, decoded in begin_ahead(items, begin, has_room, measure):
            yield item if all(future.result() for future in decoded) else again(item)


def _decodes(image: Image) -> bool:
    try:
        if image.bytes is not None:
            verify_decoded(image.bytes)
    except RowError:
        return False
    return True
