"""What is said of a dataset that was made or pushed: how it is loaded, and what comes next."""

from collections.abc import Collection

from mmconvert.console.summary import format_command
from mmconvert.dataset.manifest import DEFAULT_CONFIG, build_config_folder
from mmconvert.dataset.publish import Pushed
from mmconvert.dataset.views import EVAL
from mmconvert.storage.hub_fs import parse_dataset_repo
from mmconvert.storage.object_store import is_url


def format_published(done: Pushed) -> str:
    """Say in a few lines what `publish` did."""
    warnings = [f"warning: {warning}" for warning in done["warnings"]]
    if not done["dry_run"]:
        removed = f", {len(done['removed'])} old files removed" if done["removed"] else ""
        counts = f"{done['rows']:,} rows, {len(done['files'])} files, {done['bytes']:,} bytes{removed}"
        return "\n".join([f"{done['url']}: {counts}", *warnings])
    lines = [f"{size:>15,}  {file}" for file, size in done["files"].items()]
    counts = f"{len(done['files'])} files, {done['rows']:,} rows for {done['repo']}"
    total = f"{done['bytes']:>15,}  {counts}; nothing was sent"
    kept = [f"{limit['found']:>15,}  of {limit['most']:,} {limit['name']}" for limit in done["limits"]]
    return "\n".join([*lines, total, "The Hub's limits, for this push alone:", *kept, *warnings])


def format_load_call(place: str, splits: Collection[str], config: str = DEFAULT_CONFIG) -> str:
    """Write the call that loads a dataset from where it lies.

    Args:
        place: Folder, or URL in a store.
        splits: Its splits that have rows.
        config: Its config.

    Example:
        >>> format_load_call("sets/talks", ["train"])
        "load_dataset('sets/talks')"
        >>> format_load_call("hf://datasets/user/talks@v1", ["train"])
        "load_dataset('user/talks', revision='v1')"
        >>> format_load_call("s3://bucket/talks/", ["train"])
        "load_dataset('parquet', data_files={'train': 's3://bucket/talks/data/train-*.parquet'})"
    """
    if not is_url(place):
        return f"load_dataset({place!r})"
    if (on_hub := parse_dataset_repo(place)) is not None:
        repo, revision = on_hub
        return f"load_dataset({repo!r}{'' if revision is None else f', revision={revision!r}'})"
    # A folder of a store is no name that `datasets` takes, its files are; the store's client finds the credentials.
    folder = f"{place.rstrip('/')}/{build_config_folder(config)}"
    files = {split: f"{folder}/{split}-*.parquet" for split in splits}
    return f"load_dataset('parquet', data_files={files})"


def format_next_step(place: str, load_call: str, view: str, splits: Collection[str], *, predicted: bool = False) -> str:
    """Say what a dataset is for: training where its rows are laid out so, else a command of `mmscore`.

    Args:
        place: Folder, URL, or repository on the Hub.
        load_call: What loads it.
        view: How its rows are laid out.
        splits: Its splits that have rows.
        predicted: Its rows have predictions.
    """
    if view != EVAL:
        split = "train" if "train" in splits else next(iter(splits), "train")
        return f"train on it, in TRL: train_dataset={load_call}[{split!r}]"
    if predicted:
        return format_command("mmscore", place)
    return format_command("mmscore", "predict", place, "-o", "predictions.parquet", "--model", "MODEL")


def list_published_places(done: Pushed, again: str, view: str, splits: Collection[str]) -> dict[str, str | None]:
    """Say how what `publish` sent is used; of a dry run which command sends it.

    Args:
        done: What it did.
        again: The command that sends it.
        view: How the rows are laid out.
        splits: The splits that have rows.
    """
    if done["dry_run"]:
        return {"next": again}
    if done["url"] and "/discussions/" in done["url"]:
        return {"next": f"merge the pull request: {done['url']}"}
    load_call = f"load_dataset({done['repo']!r})"
    return {"dataset": load_call, "next": format_next_step(done["repo"], load_call, view, splits)}
