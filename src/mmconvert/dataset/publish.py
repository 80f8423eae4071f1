"""Send datasets and files to where a URL leads: a folder, an object store, or the Hub."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mmconvert.core.errors import UsageError
from mmconvert.dataset import hub_upload
from mmconvert.dataset.manifest import MANIFEST
from mmconvert.storage.hub_fs import dataset_repo, file_in_repo, on_the_hub
from mmconvert.storage.object_store import file_name, is_url, opened_store


@contextmanager
def placed(name: str | Path) -> Iterator[Path]:
    """Give the place on this machine to write a file to; one for a URL is sent when the context is left well.

    Raises:
        UsageError: As `fetched`.
        Error: As `fetched`.
    """
    if not is_url(str(name)):
        yield Path(name)
        return
    with tempfile.TemporaryDirectory(prefix="mmconvert-") as folder:
        file = Path(folder, file_name(str(name)))
        yield file
        send_file(file, str(name))


def send_file(file: Path, url: str) -> None:
    """Copy a file to a URL, replacing what stands there; a repository of the Hub is made where it is missing.

    Raises:
        UsageError: As `fetched`.
        Error: As `fetched`.
    """
    if (there := file_in_repo(url)) is not None:
        hub_upload.put_file(file, *there)
        return
    with opened_store(url) as (store, place):
        store.put_file(str(file), place)


def check_free(url: str, *, overwrite: bool) -> None:
    """Refuse a place where something stands.

    Raises:
        UsageError: A dataset stands there and may not be replaced, or anything else does.
        Error: As `fetched`.
    """
    if dataset_repo(url) is not None:
        taken, foreign = _is_published(url), False
    else:
        with opened_store(url) as (store, place):
            taken = store.exists(f"{place.rstrip('/')}/{MANIFEST}")
            foreign = not taken and store.exists(place) and (not store.isdir(place) or bool(store.ls(place)))
    if taken and not overwrite:
        raise UsageError(f"{url}: a dataset stands there already. Name another place, or give --overwrite.")
    if foreign:
        raise UsageError(f"{url}: is no dataset of ours and not empty. Name another place.")


def _is_published(url: str) -> bool:
    try:
        place = on_the_hub(url)
    except UsageError:  # there is no such repository yet
        return False
    return place is not None and (place / MANIFEST).is_file()


def send(folder: Path, url: str) -> None:
    """Copy a dataset to a place that `check_free` found right; its manifest last, so that it is whole or none.

    Files of a dataset that stood there go away after the new ones are there; its manifest goes first. To the Hub
    it is pushed, in one commit, and what else the repository has stays.

    Raises:
        Error: As `fetched`; what was sent stands there without a manifest. The Hub refuses.
    """
    if (repo := dataset_repo(url)) is not None:
        hub_upload.push(folder, repo[0], revision=repo[1])
        return
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    with opened_store(url) as (store, place):
        root = place.rstrip("/")
        if store.exists(f"{root}/{MANIFEST}"):
            store.rm_file(f"{root}/{MANIFEST}")
        before = {path.removeprefix(f"{root}/") for path in store.find(root)}
        for file in sorted(files, key=lambda name: name == MANIFEST):
            if file == MANIFEST:
                for stale in before - set(files):
                    store.rm_file(f"{root}/{stale}")
            store.put_file(str(folder / file), f"{root}/{file}")
