"""Every byte of a dataset against its manifest, on a disk, on the Hub or in a store."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from mmconvert.core.errors import Error, build_missing_path_error
from mmconvert.core.hashing import hash_file
from mmconvert.core.progress import Advance, Done
from mmconvert.dataset.dataset import read_shard_batches
from mmconvert.dataset.manifest import MANIFEST, build_config_folder, read_manifest
from mmconvert.dataset.shards import Shard
from mmconvert.storage.hub_fs import find_on_hub
from mmconvert.storage.object_store import is_url, open_store
from mmconvert.storage.temporary import build_temporary_prefix


def verify(path: str | Path, advance: Advance = lambda done: None) -> list[str]:
    """Re-read every byte of a dataset created by mmconvert: sha256 of every shard, checksum of every page, rows.

    Args:
        path: Its folder, its name on the Hub, or its URL in a store, from which one shard at a time is fetched.
        advance: Called after each shard with how much is done.

    Returns:
        One sentence for each fault: a file that is missing, changed, unreadable, or not ours; [] when all is well.

    Raises:
        UsageError: Nothing stands there, or as `mmconvert.storage.object_store.local`.
        Error: There is no manifest to compare with, or the store failed.
    """
    place = find_on_hub(path)
    if place is None and is_url(str(path)):
        return _find_faults_in_store(str(path), advance)
    folder = place or Path(path)
    if not folder.exists():
        raise build_missing_path_error(folder)
    return _find_faults(
        folder,
        lambda file: nullcontext(folder / file),
        lambda name: sorted(file.name for file in (folder / name).glob("*.parquet")),
        advance,
    )


def _find_faults_in_store(url: str, advance: Advance) -> list[str]:
    with open_store(url) as (store, place), tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as work:
        root, folder = place.rstrip("/"), Path(work)

        @contextmanager
        def fetched(file: str) -> Iterator[Path]:
            copy = folder / file
            copy.parent.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):
                store.get_file(f"{root}/{file}", str(copy))
            yield copy
            copy.unlink(missing_ok=True)

        def listed(name: str) -> list[str]:
            files = (file.removeprefix(f"{root}/{name}/") for file in store.find(f"{root}/{name}"))
            return sorted(file for file in files if file.endswith(".parquet") and "/" not in file)

        try:
            return [fault.replace(work, url.rstrip("/")) for fault in _find_faults(folder, fetched, listed, advance)]
        except Error as error:
            raise Error(str(error).replace(work, url.rstrip("/"))) from None


def _find_faults(
    folder: Path,
    held: Callable[[str], AbstractContextManager[Path]],
    listed: Callable[[str], list[str]],
    advance: Advance,
) -> list[str]:
    """Find the faults of a dataset whose files are there while they are held."""
    with held(MANIFEST):
        configs, _ = read_manifest(folder)
    faults = []
    known = {shard.file: shard for splits in configs.values() for shards in splits.values() for shard in shards}
    whole, rows, size = sum(shard.bytes for shard in known.values()), 0, 0
    for name, shard in known.items():
        with held(name) as file:
            if fault := _find_shard_fault(file, shard):
                faults.append(f"{file}: {fault}")
        rows, size = rows + shard.rows, size + shard.bytes
        advance(Done(rows, size, share=size / whole if whole else None))
    for config in map(build_config_folder, configs):
        for name in listed(config):
            if f"{config}/{name}" not in known:
                stray = folder / config / name
                faults.append(f"{stray}: is not in the manifest, but would be loaded with the others.")
    return faults


def _find_shard_fault(file: Path, shard: Shard) -> str:
    if not file.is_file():
        return "is missing."
    if hash_file(file) != shard.sha256:
        return "its sha256 differs from the manifest: a byte has changed."
    try:
        rows = sum(batch.num_rows for batch in read_shard_batches(file, None))
    except Error as error:
        return str(error)
    return "" if rows == shard.rows else f"holds {rows} rows, the manifest says {shard.rows}."
