"""Large files from the network: fetched once, checked, and gone on with where a download breaks off.

What has arrived stands in `NAME.part` beside the place, and `NAME.part.json` says of which file of which address it is
the beginning.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import msgspec

from mmconvert.core.errors import Error, RowError
from mmconvert.core.progress import Advance, Done
from mmconvert.storage.atomic import sync_file, sync_folder
from mmconvert.storage.http import Body, Limits, OtherPartError, Resume, open_url
from mmconvert.storage.locks import occupied

LIMITS = Limits(bytes=64 << 30, seconds=6 * 3600)
"""The largest tables have some ten gigabytes."""

_ATTEMPTS = 5
"""How often a download that breaks off is gone on with."""
_BROKEN_OFF = frozenset({"remote.failed", "remote.timeout"})

Open = Callable[..., AbstractContextManager[Body]]
"""`mmconvert.storage.http.open_url`, or what tests put in its place."""


class _Note(msgspec.Struct, frozen=True):
    """Of which file a part is the beginning."""

    url: str
    validator: str | None


def download_file(
    url: str,
    place: Path,
    sums: Mapping[str, str],
    *,
    open_url: Open = open_url,
    advance: Advance = lambda _done: None,
) -> None:
    """Fetch a file, unless it is there already and has the right sums.

    Args:
        url: Its address.
        place: Where it shall appear; its folder is made.
        sums: Name of a digest (md5, sha256) -> what it must be, as hex in small letters.
        open_url: Opens an address.
        advance: Takes how far the download is.

    Raises:
        Error: It cannot be fetched, or a sum is wrong; a file that stood there is untouched.
    """
    # Whoever may only read the folder can use what is there.
    if has_sums(place, sums):
        return
    with occupied(place, sharing=True):
        if has_sums(place, sums):
            return
        try:
            _fetch(url, place, sums, open_url, advance)
        except RowError as error:
            more = f" What has arrived is kept in {_part(place)}: run again to continue the download."
            if not _count_bytes(_part(place)):
                _forget(place)
                more = ""
            raise Error(f"{url}: {error.message}{more} Or fetch it by hand, and put it there: {place}") from None
        except OSError as error:
            _forget(place)
            raise Error(f"{place}: cannot be written: {error.strerror}. Make room or give rights there.") from None


def has_sums(place: Path, sums: Mapping[str, str]) -> bool:
    """Tell whether a file is there and has the right sums."""
    return place.is_file() and _find_sums(place, sums) == sums


def _fetch(url: str, place: Path, sums: Mapping[str, str], open_url: Open, advance: Advance) -> None:
    part = _part(place)
    for attempt in range(_ATTEMPTS):
        resume = _find_resume(place, url, checked=bool(sums))
        had = resume.start if resume is not None else 0
        try:
            resumed = _write_part(url, place, resume, open_url, advance)
        except OtherPartError:
            _forget(place)
            continue
        except RowError as error:
            if error.code not in _BROKEN_OFF or attempt + 1 == _ATTEMPTS or _count_bytes(part) <= had:
                raise
            continue
        found = _find_sums(part, sums)
        if found == sums:
            break
        _forget(place)
        # The beginning may have been that of another file than the rest.
        if not resumed:
            raise Error(
                f"{url}: {_format_sums(found)}, expected {_format_sums(sums)}. Nothing was replaced. "
                "Check the sum, or take the address that it belongs to."
            )
    else:
        raise Error(f"{url}: it broke off {_ATTEMPTS} times. Run again, or fetch it by hand, and put it there: {place}")
    sync_file(part)
    part.replace(place)
    _note(place).unlink(missing_ok=True)
    sync_folder(place.parent)


def _write_part(url: str, place: Path, resume: Resume | None, open_url: Open, advance: Advance) -> bool:
    """Write what the server sends behind what is there, or in its place; tell whether it went on."""
    given = {} if resume is None else {"resume": resume}
    with open_url(url, LIMITS, **given) as body, _part(place).open("ab" if body.start else "wb") as file:
        # Not before the part is empty: the note must never name another file than the one that the part is of.
        if not body.start:
            _note(place).write_bytes(msgspec.json.encode(_Note(url, body.validator)))
        count = body.start
        for chunk in body:
            file.write(chunk)
            count += len(chunk)
            advance(Done(bytes=count, share=min(1.0, count / body.size) if body.size else None))
    return body.start > 0


def _find_resume(place: Path, url: str, *, checked: bool) -> Resume | None:
    """Say where to go on; None where nothing is here, or nobody could tell whether the rest belongs to it."""
    size = _count_bytes(_part(place))
    with contextlib.suppress(OSError, msgspec.DecodeError):
        note = msgspec.json.decode(_note(place).read_bytes(), type=_Note)
        if size and note.url == url and (checked or note.validator is not None):
            return Resume(size, note.validator)
    return None


def _part(place: Path) -> Path:
    return place.with_name(f"{place.name}.part")


def _note(place: Path) -> Path:
    return place.with_name(f"{place.name}.part.json")


def _forget(place: Path) -> None:
    for path in (_part(place), _note(place)):
        path.unlink(missing_ok=True)


def _count_bytes(path: Path) -> int:
    return os.path.getsize(path) if path.exists() else 0


def _find_sums(path: Path, wanted: Mapping[str, str]) -> dict[str, str]:
    sums = {}
    for kind in wanted:
        with path.open("rb") as file:
            sums[kind] = hashlib.file_digest(file, partial(hashlib.new, kind, usedforsecurity=False)).hexdigest()
    return sums


def _format_sums(sums: Mapping[str, str]) -> str:
    return ", ".join(f"{kind} {value}" for kind, value in sums.items())
