"""Send datasets and files to where a URL leads: a folder, an object store, or the Hub."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from mmconvert.core.errors import UsageError
from mmconvert.core.progress import show_progress
from mmconvert.dataset import hub_upload
from mmconvert.dataset.card import Origin
from mmconvert.dataset.eval_yaml import EVAL_YAML, build_eval_yaml
from mmconvert.dataset.hub_limits import check_limits, refuse_beyond
from mmconvert.dataset.manifest import MANIFEST
from mmconvert.storage.folders import require_inside
from mmconvert.storage.hub_fs import find_on_hub, parse_dataset_repo, parse_file_in_repo
from mmconvert.storage.object_store import is_url, open_store, read_file_name
from mmconvert.storage.source_files import watch_sources
from mmconvert.storage.temporary import build_temporary_prefix

_LONG = 64 << 20
"""Bytes from which a log hears that they are on their way."""


@contextmanager
def open_output(name: str | Path) -> Iterator[Path]:
    """Give the place on this machine to write a file to; one for a URL is sent when the context is left well.

    Raises:
        UsageError: As `fetched`.
        Error: As `fetched`.
    """
    if not is_url(str(name)):
        yield Path(name)
        return
    with tempfile.TemporaryDirectory(prefix=build_temporary_prefix()) as folder:
        file = Path(folder, read_file_name(str(name)))
        yield file
        send_file(file, str(name))


def send_file(file: Path, url: str) -> None:
    """Copy a file to a URL, replacing what stands there; a repository of the Hub is made where it is missing.

    Raises:
        UsageError: As `fetched`.
        Error: As `fetched`.
    """
    if (there := parse_file_in_repo(url)) is not None:
        hub_upload.put_file(file, *there)
        return
    with open_store(url) as (store, place):
        store.put_file(str(file), place)


def check_free(url: str, *, overwrite: bool) -> None:
    """Refuse a place where something stands.

    Raises:
        UsageError: A dataset stands there and may not be replaced, or anything else does.
        Error: As `fetched`.
    """
    if parse_dataset_repo(url) is not None:
        taken, foreign = _is_published(url), False
    else:
        with open_store(url) as (store, place):
            taken = store.exists(f"{place.rstrip('/')}/{MANIFEST}")
            foreign = not taken and store.exists(place) and (not store.isdir(place) or bool(store.ls(place)))
    if taken and not overwrite:
        raise UsageError(f"{url}: a dataset already exists there. Name another directory, or give --overwrite.")
    if foreign:
        raise UsageError(f"{url}: is not empty and not a dataset created by mmconvert. Name another directory.")


def _is_published(url: str) -> bool:
    try:
        place = find_on_hub(url)
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
    if (repo := parse_dataset_repo(url)) is not None:
        hub_upload.push(folder, repo[0], revision=repo[1])
        return
    listed = require_inside(folder, (path for path in folder.rglob("*") if path.is_file()))
    files = sorted(path.relative_to(folder).as_posix() for path in listed)
    with open_store(url) as (store, place):
        root = place.rstrip("/")
        if store.exists(f"{root}/{MANIFEST}"):
            store.rm_file(f"{root}/{MANIFEST}")
        before = {path.removeprefix(f"{root}/") for path in store.find(root)}
        for file in sorted(files, key=lambda name: name == MANIFEST):
            if file == MANIFEST:
                for stale in before - set(files):
                    store.rm_file(f"{root}/{stale}")
            store.put_file(str(folder / file), f"{root}/{file}")


class UploadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How something is published on the Hub."""

    private: bool = False
    """Make the repository private."""
    revision: str | None = None
    """Branch to commit to; created if it does not exist."""
    create_pr: bool = False
    """Open a pull request instead of committing to the branch."""
    dry_run: bool = False
    """Check everything and list what would be uploaded; upload nothing."""


class PushOptions(UploadOptions, frozen=True, kw_only=True):
    """The options of `mmconvert push` and the keywords of `push`."""

    license: str | None = None
    """License of the data for the dataset card, by its Hub id: mit, cc-by-4.0, other."""
    source: str | None = None
    """Where the data comes from, for the dataset card."""
    eval_yaml: bool = False
    """Upload eval.yaml too, which makes the splits tasks of a benchmark; for questions without images."""


class Pushed(TypedDict):
    """What a push did, or with `dry_run` would do: the object that `mmconvert push --json` prints.

    Attributes:
        repo: `USER/REPO`.
        url: Page of the dataset, of its branch, or of the pull request; None for a dry run.
        files: Bytes of every file by its name.
        bytes: All of them.
        rows: Rows of all configurations.
        removed: Shards of earlier pushes that the commit took away.
        dry_run: Nothing was sent.
        limits: The Hub's, each with `name`, `found`, `most` and `hard`.
        warnings: Limits that are not kept.
    """

    repo: str
    url: str | None
    files: dict[str, int]
    bytes: int
    rows: int
    removed: list[str]
    dry_run: bool
    limits: list[dict[str, Any]]
    warnings: list[str]


@watch_sources()
def publish(folder: Path, repo_id: str, options: UploadOptions, *, quiet: bool) -> Pushed:
    """Push a converted dataset to the Hub, or with `dry_run` only check it and say what would be sent.

    Args:
        folder: The dataset.
        repo_id: `USER/REPO`.
        options: How; `PushOptions` bring licence and source for the card.
        quiet: Nothing on standard error.

    Raises:
        UsageError: The options or the folder are wrong.
        Error: The dataset or the Hub refuses.
    """
    origin = Origin(options.license, options.source) if isinstance(options, PushOptions) else None
    check_target(repo_id, options)
    with show_progress("check", quiet=quiet) as advance:
        upload = hub_upload.prepare(folder, advance)
    if isinstance(options, PushOptions) and options.eval_yaml:
        more = {EVAL_YAML: build_eval_yaml(folder, repo_id.rpartition("/")[2])}
        upload = msgspec.structs.replace(upload, more=more)
    return publish_upload(upload, repo_id, options, quiet=quiet, origin=origin)


def check_target(repo_id: str, options: UploadOptions) -> None:
    """Refuse a wrong target at once, before work is done for it.

    Raises:
        UsageError: No such repository can exist, the options exclude each other, or there is no token of the Hub.
    """
    hub_upload.check_target(repo_id, revision=options.revision, create_pr=options.create_pr)
    if not options.dry_run:
        hub_upload.require_token(repo_id)


def publish_upload(
    upload: hub_upload.Upload, repo_id: str, options: UploadOptions, *, quiet: bool, origin: Origin | None = None
) -> Pushed:
    """Push what is ready, or with `dry_run` only say what would be sent.

    Raises:
        Error: The Hub refuses.
    """
    from huggingface_hub.utils.tqdm import disable_progress_bars

    # On a terminal the Hub's client draws a bar for each file, with bytes and time left.
    if quiet or not sys.stderr.isatty():
        disable_progress_bars()
    found = check_limits(upload.files, len(upload.files), private=options.private)
    refuse_beyond(repo_id, found)
    result = None
    size = sum(upload.files.values())
    if not options.dry_run:
        if size >= _LONG and not quiet and not sys.stderr.isatty():
            sys.stderr.write(f"push: {size:,} bytes in {len(upload.files)} files\n")
        result = hub_upload.push(
            upload,
            repo_id,
            private=options.private,
            revision=options.revision,
            create_pr=options.create_pr,
            origin=origin,
        )
    return {
        "repo": repo_id,
        "url": result.url if result else None,
        "files": upload.files,
        "bytes": size,
        "rows": upload.rows,
        "removed": list(result.removed) if result else [],
        "dry_run": options.dry_run,
        "limits": [{"name": f.name, "found": f.found, "most": f.most, "hard": f.hard} for f in found],
        "warnings": [str(limit) for limit in found if not limit.kept],
    }
