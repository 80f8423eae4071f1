"""Publish a converted dataset on the Hugging Face Hub: our own shards, one commit, nothing else.

Everything is checked before the first request: every byte against the manifest, every image
decoded. Uploaded bytes are content-addressed, so a push that was cut off sends only what is missing.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from mmconvert._version import __version__
from mmconvert.core.errors import Error, RowError, UsageError, show
from mmconvert.core.multiprocess import count_usable_cores
from mmconvert.core.progress import Advance, Done
from mmconvert.dataset.card import Origin, build_shard_glob, merge, set_repo_name
from mmconvert.dataset.dataset import open_dataset
from mmconvert.dataset.hub_limits import check_limits, refuse_beyond
from mmconvert.dataset.manifest import MANIFEST, PREDICTIONS, read_manifest
from mmconvert.dataset.shards import Shard
from mmconvert.images.loader import probe
from mmconvert.images.verify import verify_decoded
from mmconvert.storage.folders import require_inside
from mmconvert.storage.hub_errors import explain_errors, retry
from mmconvert.storage.source_files import ChangedError, open_source, read_source, watch_sources

if TYPE_CHECKING:  # the Hub's client takes time to load, and most datasets stay on a disk
    from huggingface_hub import CommitInfo, HfApi

CARD = "README.md"
MAIN = "main"
_HASHING = 0.2
"""Part of the checks' time that the digests take, the images' decoding takes the rest."""
_NAME = r"(?![-.])(?![^/]*(?:--|\.\.))[\w.-]{1,96}(?<![-.])(?<!\.git)"
_REPO_ID = re.compile(f"{_NAME}/{_NAME}", re.ASCII)
_ELSEWHERE = re.compile(r"/|~|[A-Za-z]:[\\/]|\\\\|(.*[\\/])?\.\.[\\/]")

Manifest = Mapping[str, Any]


class Upload(msgspec.Struct, frozen=True):
    """What a push would send.

    Attributes:
        folder: The dataset's folder.
        shards: Parquet files by configuration and split.
        manifest: The manifest, freed of paths of this machine.
        more: Further small files by their names in the repository.
        gone: Files that an earlier push may have left and that no longer hold.
        join: Joins our card and the one in the repository.
    """

    folder: Path
    shards: Mapping[str, Mapping[str, list[Shard]]]
    manifest: Manifest
    more: Mapping[str, bytes] = msgspec.field(default_factory=dict)
    gone: Sequence[str] = ()
    join: Callable[[str, str], str] = merge

    @property
    def files(self) -> dict[str, int]:
        """Bytes of every file by its name in the repository."""
        listed = [shard for splits in self.shards.values() for shards in splits.values() for shard in shards]
        card = (self.folder / CARD).stat().st_size
        small = {CARD: card, MANIFEST: len(_encode_manifest(self.manifest))}
        return {s.file: s.bytes for s in listed} | small | {name: len(data) for name, data in self.more.items()}

    @property
    def rows(self) -> int:
        """Rows of all configurations."""
        return sum(s.rows for splits in self.shards.values() for shards in splits.values() for s in shards)


class PushResult(msgspec.Struct, frozen=True):
    """What stands on the Hub now.

    Attributes:
        url: Page of the dataset, of its branch, or of the pull request.
        files: Number of files of the dataset, those that stood there unchanged included.
        bytes: Their size.
        removed: Shards of earlier pushes that the commit took away.
    """

    url: str
    files: int
    bytes: int
    removed: tuple[str, ...]


def check_target(repo_id: str, *, revision: str | None = None, create_pr: bool = False) -> None:
    """Check what can be checked about the place without asking the Hub.

    Raises:
        UsageError: `repo_id` is no `USER/REPO`, or a pull request is asked for on a branch.
    """
    if not _REPO_ID.fullmatch(repo_id):
        raise UsageError(
            f"{repo_id!r}: is not a name of a repository. Give USER/REPO: letters, digits and - _ . inside."
        )
    if create_pr and revision not in (None, MAIN):
        raise UsageError(f"a pull request is made against {MAIN}. Give either --create-pr or --revision {revision}.")


def require_token(repo_id: str, token: str | None = None) -> None:
    """Refuse to push without a token, which the Hub would do after the work is done.

    Args:
        repo_id: Where to push.
        token: Hub token, None for the environment's or the saved one.

    Raises:
        UsageError: There is none.
    """
    from huggingface_hub import get_token

    if not (token or get_token()):
        raise UsageError(
            f"{repo_id}: the Hub takes no push without a token. Run `hf auth login`, or set HF_TOKEN to a token that "
            "may write (https://huggingface.co/settings/tokens)."
        )


def prepare(folder: str | Path, advance: Advance = lambda done: None) -> Upload:
    """Check a dataset in full, without any request: digests, image bytes, decoding.

    Args:
        folder: A dataset that `mmconvert` wrote.
        advance: Called with how much is checked.

    Returns:
        What a push would send.

    Raises:
        UsageError: There is no such folder.
        Error: It is no dataset created by mmconvert, a byte has changed, or a row has an image that is a kept URL, a
            path, or cannot be decoded.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder. Give a dataset that mmconvert wrote.")
    configs, manifest = read_manifest(folder)
    if not (folder / CARD).is_file():
        raise Error(f"{folder}: has no {CARD}. Convert the dataset again.")
    require_inside(folder, [folder / CARD])
    listed = [shard for splits in configs.values() for shards in splits.values() for shard in shards]
    whole, size = max(1, sum(shard.bytes for shard in listed)), 0
    for shard in listed:
        _check_bytes(folder, shard)
        size += shard.bytes
        advance(Done(bytes=size, share=_HASHING * size / whole))
    total, rows = max(1, sum(shard.rows for shard in listed)), 0
    with ThreadPoolExecutor(count_usable_cores()) as threads:
        for config in configs:
            for checked in _check_images(folder, config, threads):
                rows += checked
                advance(Done(rows, size, share=_HASHING + (1 - _HASHING) * rows / total))
    return Upload(folder, configs, remove_paths(manifest))


@watch_sources()
def push(
    dataset: str | Path | Upload,
    repo_id: str,
    *,
    private: bool = False,
    revision: str | None = None,
    create_pr: bool = False,
    origin: Origin | None = None,
    token: str | None = None,
    commit_message: str = f"Upload with mmconvert {__version__}",
) -> PushResult:
    """Publish a dataset in one commit; the repository and the branch are made where they are missing.

    Shards that the repository has for the same configurations and splits are removed in that commit;
    other configurations, splits and files stay, and so do the card's licence and hand-written text.

    Args:
        dataset: Folder of a dataset that `mmconvert` wrote, or what `prepare` gave for one.
        repo_id: `USER/REPO`.
        private: Make the repository private; it is an error when it exists and is public.
        revision: Branch to commit to, None for main.
        create_pr: Propose the commit as a pull request against main.
        origin: Licence and source for the card, None for what the cards here and there say.
        token: Hub token, None for the environment's or the saved one.
        commit_message: First line of the commit.

    Raises:
        UsageError: `check_target` or `prepare` refuse the arguments, or there is no token.
        Error: `prepare` refuses the dataset, or the Hub refuses the push; the message says what to do.
    """
    check_target(repo_id, revision=revision, create_pr=create_pr)
    require_token(repo_id, token)
    upload = dataset if isinstance(dataset, Upload) else prepare(dataset)
    api = _open_api(token)
    place = _Place(repo_id, revision, create_pr, commit_message)
    # A pull request that was made although its answer got lost would be made twice.
    once = "/commit/" if create_pr else None
    with explain_errors(repo_id):
        retry(lambda: _make_place(api, repo_id, revision, private))
        commit, removed = retry(lambda: _commit(api, place, upload, origin), once=once)
    branch = "" if revision in (None, MAIN) else f"/tree/{revision}"
    url = commit.pr_url or f"{api.endpoint}/datasets/{repo_id}{branch}"
    return PushResult(url, len(upload.files), sum(upload.files.values()), removed)


def put_file(file: Path, repo_id: str, path: str, revision: str | None = None) -> None:
    """Put one file into a dataset's repository, which is made where it is missing.

    Args:
        file: The file here.
        repo_id: `USER/REPO`.
        path: Its name in the repository.
        revision: Branch to commit to, None for main.

    Raises:
        UsageError: There can be no such repository, or there is no token.
        Error: The Hub refuses; the message says what to do.
    """
    check_target(repo_id)
    require_token(repo_id)
    api = _open_api()
    with explain_errors(repo_id):
        retry(lambda: _make_place(api, repo_id, revision, False))
        place: dict[str, Any] = {"repo_id": repo_id, "repo_type": "dataset", "revision": revision}
        retry(lambda: api.upload_file(path_or_fileobj=file, path_in_repo=path, **place))


def _check_bytes(folder: Path, shard: Shard) -> None:
    path = folder / shard.file
    digest = None
    if path.is_file() and path.stat().st_size == shard.bytes:
        with open_source(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != shard.sha256:
        raise Error(f"{path}: is missing or differs from the manifest. Run mmconvert verify {folder}.")


def _check_images(folder: Path, config: str, threads: Executor) -> Iterator[int]:
    """Yield how many rows were checked, batch by batch."""
    for batch in open_dataset(folder, config).batches(["id", "images", "attachments"]):
        entries = [entry for row in batch.to_pylist() for entry in _list_row_images(row)]
        images = [image for _, image in entries]
        for (place, _), fault in zip(entries, threads.map(_find_image_fault, images), strict=True):
            if fault:
                raise Error(f"{folder} {place}: {fault}")
        yield batch.num_rows


def _list_row_images(row: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for k, image in enumerate(row.get("images") or ()):
        yield f"row {row['id']!r} images[{k}]", image or {}
    for k, attachment in enumerate(row.get("attachments") or ()):
        yield f"row {row['id']!r} attachments[{k}]", (attachment or {}).get("image") or {}


def _find_image_fault(image: Mapping[str, Any]) -> str:
    if image.get("path") is not None:
        return f"holds a path instead of an image {show(image['path'])}. Convert the dataset again."
    if image.get("bytes") is None:
        return "has no bytes, only a URL that was kept. Convert without --keep-urls to publish it."
    try:
        probe(image["bytes"])
        verify_decoded(image["bytes"])
    except RowError as error:
        return f"{error} Convert with --verify decode to reject such rows."
    return ""


def remove_paths(value: Any) -> Any:
    """Cut paths that lead out of the dataset to their last part: they would tell about this machine."""
    if isinstance(value, Mapping):
        return {key: remove_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [remove_paths(item) for item in value]
    if isinstance(value, str) and _ELSEWHERE.match(value):
        return re.split(r"[\\/]", value.rstrip("\\/"))[-1]
    return value


def _encode_manifest(manifest: Manifest) -> bytes:
    return json.dumps(manifest, indent=1, ensure_ascii=False).encode()


def _open_api(token: str | None = None) -> "HfApi":
    from huggingface_hub import HfApi

    return HfApi(token=token, library_name="mmconvert", library_version=__version__)


def _make_place(api: "HfApi", repo_id: str, revision: str | None, private: bool) -> None:
    # None leaves the choice to the Hub, where an organisation may make everything private.
    api.create_repo(repo_id, repo_type="dataset", private=private or None, exist_ok=True)
    if private and not api.dataset_info(repo_id).private:
        raise Error(f"{repo_id}: exists and is public. Make it private in its settings, or leave out --private.")
    if revision not in (None, MAIN) and not revision.startswith("refs/"):
        api.create_branch(repo_id, repo_type="dataset", branch=revision, exist_ok=True)


class _Place(msgspec.Struct, frozen=True):
    repo_id: str
    revision: str | None
    create_pr: bool
    message: str


def _commit(api: "HfApi", place: _Place, upload: Upload, origin: Origin | None) -> "tuple[CommitInfo, tuple[str, ...]]":
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.hf_api import RepoFile

    repo_id, revision = place.repo_id, place.revision
    head = api.dataset_info(repo_id, revision=revision).sha
    tree = api.list_repo_tree(repo_id, repo_type="dataset", revision=head, recursive=True)
    there = {entry.path: entry.size for entry in tree if isinstance(entry, RepoFile)}
    remote = set(there)
    card = read_source(upload.folder / CARD).decode()
    manifest = upload.manifest
    if CARD in remote:
        card = upload.join(card, _download(api, repo_id, CARD, head).decode(errors="replace"))
    if MANIFEST in remote:
        manifest = _merge_manifests(repo_id, manifest, _download(api, repo_id, MANIFEST, head), remote)
    shards = [shard for splits in upload.shards.values() for shards in splits.values() for shard in shards]
    stale = _list_stale_shards(upload, remote)
    left = {path: size for path, size in there.items() if path not in stale}
    refuse_beyond(repo_id, check_limits({**left, **upload.files}, len(upload.files)))
    additions = [CommitOperationAdd(shard.file, upload.folder / shard.file) for shard in shards]
    # The client has read the files again, and the Hub takes nothing but bytes of that digest.
    for shard, addition in zip(shards, additions, strict=True):
        if addition.upload_info.sha256.hex() != shard.sha256:
            raise ChangedError(f"{upload.folder / shard.file}: changed while it was read. Run again.")
    operations: list[CommitOperationAdd | CommitOperationDelete] = [
        *(CommitOperationDelete(path) for path in stale),
        *additions,
        CommitOperationAdd(CARD, set_repo_name(card, repo_id, origin).encode()),
        CommitOperationAdd(MANIFEST, _encode_manifest(manifest)),
        *(CommitOperationAdd(name, data) for name, data in upload.more.items()),
    ]
    try:
        # On a parent that is no longer the head the Hub answers 412 and the whole is worked out again.
        commit = api.create_commit(
            repo_id,
            operations,
            commit_message=place.message,
            repo_type="dataset",
            revision=revision,
            create_pr=place.create_pr,
            parent_commit=head,
        )
    except ValueError as error:
        if isinstance(error, HfHubHTTPError):
            raise
        raise Error(f"{upload.folder / CARD}: the Hub rejects it: {error}") from None
    return commit, stale


def _download(api: "HfApi", repo_id: str, path: str, revision: str | None) -> bytes:
    return Path(api.hf_hub_download(repo_id, path, repo_type="dataset", revision=revision)).read_bytes()


def _list_stale_shards(upload: Upload, remote: set[str]) -> tuple[str, ...]:
    """Name remote shards that our card would read along with ours, and what no longer holds."""
    kept = set(upload.files)
    names = [(config, split) for config, splits in upload.shards.items() for split in splits]
    globs = [PurePosixPath(build_shard_glob(*name)) for name in names]
    return tuple(
        path
        for path in sorted(remote - kept)
        if path in upload.gone
        or any(PurePosixPath(path).parent == g.parent and PurePosixPath(path).match(g.name) for g in globs)
    )


def _merge_manifests(repo_id: str, ours: Manifest, data: bytes, remote: set[str]) -> Manifest:
    """Keep what an earlier push listed and this one does not replace, as far as the files are there."""
    try:
        theirs = json.loads(data)
        predicted = theirs.get("view") == PREDICTIONS
        kept = {
            config: {split: shards for split, shards in splits.items() if {s["file"] for s in shards} <= remote}
            for config, splits in theirs["configs"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return ours
    if any(kept.values()) and predicted != (ours.get("view") == PREDICTIONS):
        held, sent = ("predictions", "a dataset") if predicted else ("a dataset", "predictions")
        raise Error(f"{repo_id}: holds {held}, which {sent} cannot join. Name another repository.")
    configs = {c: {**kept.get(c, {}), **ours["configs"].get(c, {})} for c in dict.fromkeys([*kept, *ours["configs"]])}
    return {**ours, "configs": {config: splits for config, splits in configs.items() if splits}}
