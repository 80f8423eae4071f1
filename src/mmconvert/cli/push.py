"""`mmconvert push`: publish a converted dataset on the Hub."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.summary import close, command
from mmconvert.core.progress import progress
from mmconvert.core.text.printable import printable
from mmconvert.dataset.card import Origin

if TYPE_CHECKING:
    from mmconvert.dataset.hub_upload import Upload

_LONG = 64 << 20
"""Bytes from which a log hears that they are on their way."""
_F = TypeVar("_F", bound=Callable[..., Any])


def push_options(command: _F) -> _F:
    """Give a command the options of a push: `private`, `revision`, `create_pr`, `dry_run`."""
    dry = click.option("--dry-run", is_flag=True, help="Check everything and list what would be sent; sends nothing.")
    return place_options(dry(command))


def place_options(command: _F) -> _F:
    """Give a command the options that say where a push goes: `private`, `revision`, `create_pr`."""
    options = [
        click.option("--private", is_flag=True, help="Make the repository private."),
        click.option("--revision", metavar="REV", help="Branch to commit to, made where it is missing."),
        click.option("--create-pr", is_flag=True, help="Propose the upload as a pull request."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def origin_options(command: _F) -> _F:
    """Give a command the options of a card that only people can fill in: `license`, `source`."""
    options = [
        click.option(
            "--license", metavar="NAME", help="Licence for the card, by the Hub's name: mit, cc-by-4.0, other."
        ),
        click.option("--source", metavar="URL|USER/REPO", help="Where the data come from, for the card."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def check_push(repo_id: str, *, revision: str | None, create_pr: bool) -> None:
    """Refuse a wrong target at once, before work is done for it.

    Raises:
        UsageError: No such repository can exist, or the options exclude each other.
    """
    from mmconvert.dataset import hub_upload

    hub_upload.check_target(repo_id, revision=revision, create_pr=create_pr)


def publish(
    folder: Path,
    repo_id: str,
    *,
    private: bool,
    revision: str | None,
    create_pr: bool,
    dry_run: bool,
    quiet: bool,
    origin: Origin | None = None,
) -> dict[str, Any]:
    """Push a folder, or under `dry_run` only check it and say what would be sent.

    Returns:
        What `--json` prints: `repo`, `url` (null for a dry run), `files` (name -> bytes), `bytes`, `rows`,
        `removed`, `dry_run`, `limits` (the Hub's: `name`, `found`, `most`, `hard`), `warnings`
        (those that are not kept).

    Raises:
        UsageError: The options or the folder are wrong.
        Error: The dataset or the Hub refuses.
    """
    # Loaded here so that --help and a conversion without --push need not wait for the Hub's client.
    from mmconvert.dataset import hub_upload

    wishes: dict[str, Any] = {"private": private, "revision": revision, "create_pr": create_pr, "dry_run": dry_run}
    hub_upload.check_target(repo_id, revision=revision, create_pr=create_pr)
    with progress("check", quiet=quiet) as advance:
        upload = hub_upload.prepare(folder, advance)
    return send(upload, repo_id, quiet=quiet, origin=origin, **wishes)


def send(
    upload: "Upload",
    repo_id: str,
    *,
    private: bool,
    revision: str | None,
    create_pr: bool,
    dry_run: bool,
    quiet: bool,
    origin: Origin | None = None,
) -> dict[str, Any]:
    """Push what is ready, or under `dry_run` only say what would be sent; see `publish`."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    from mmconvert.dataset import hub_upload
    from mmconvert.dataset.hub_limits import limits, refuse_beyond

    # On a terminal the Hub's client draws a bar for each file, with bytes and time left.
    if quiet or not sys.stderr.isatty():
        disable_progress_bars()
    found = limits(upload.files, len(upload.files), private=private)
    refuse_beyond(repo_id, found)
    result = None
    if not dry_run:
        size = sum(upload.files.values())
        if size >= _LONG and not quiet and not sys.stderr.isatty():
            click.echo(f"push: {size:,} bytes in {len(upload.files)} files", err=True)
        result = hub_upload.push(
            upload, repo_id, private=private, revision=revision, create_pr=create_pr, origin=origin
        )
    return {
        "repo": repo_id,
        "url": result.url if result else None,
        "files": upload.files,
        "bytes": sum(upload.files.values()),
        "rows": upload.rows,
        "removed": list(result.removed) if result else [],
        "dry_run": dry_run,
        "limits": [{"name": f.name, "found": f.found, "most": f.most, "hard": f.hard} for f in found],
        "warnings": [str(limit) for limit in found if not limit.kept],
    }


def published_text(done: dict[str, Any]) -> str:
    """Say in a few lines what `publish` did."""
    warnings = [f"warning: {warning}" for warning in done["warnings"]]
    if not done["dry_run"]:
        removed = f", {len(done['removed'])} old files removed" if done["removed"] else ""
        counts = f"{done['rows']:,} rows, {len(done['files'])} files, {done['bytes']:,} bytes{removed}"
        return "\n".join([f"{done['url']}: {counts}", *warnings])
    lines = [f"{size:>15,}  {file}" for file, size in done["files"].items()]
    total = (
        f"{done['bytes']:>15,}  {len(done['files'])} files, {done['rows']:,} rows for {done['repo']}; nothing was sent"
    )
    kept = [f"{limit['found']:>15,}  of {limit['most']:,} {limit['name']}" for limit in done["limits"]]
    return "\n".join([*lines, total, "The Hub's limits, for this push alone:", *kept, *warnings])


def published_places(done: dict[str, Any], again: str) -> dict[str, str | None]:
    """Say how what `publish` sent is used; of a dry run which command sends it."""
    if done["dry_run"]:
        return {"next": again}
    if done["url"] and "/discussions/" in done["url"]:
        return {"next": f"merge the pull request: {done['url']}"}
    use = command("mmscore", "predict", done["repo"], "-o", "predictions.parquet", "--model", "MODEL")
    return {"dataset": f"load_dataset({done['repo']!r})", "next": use}


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("repo_id", metavar="USER/REPO")
@push_options
@origin_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@OPTIONS_FILE
def push(
    folder: Path,
    repo_id: str,
    private: bool,
    revision: str | None,
    create_pr: bool,
    dry_run: bool,
    license: str | None,
    source: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Publish a converted dataset on the Hub, after every byte and picture was checked.

    Only the shards, the card and the manifest are sent, in one commit; a push that was cut goes on where it was
    when it is run again. The token comes from HF_TOKEN or `hf auth login`. Licence and source, where they are
    not given, stay as the card in the repository has them.
    """
    done = publish(
        folder,
        repo_id,
        private=private,
        revision=revision,
        create_pr=create_pr,
        dry_run=dry_run,
        quiet=quiet or as_json,
        origin=Origin(license, source),
    )
    if as_json:
        click.echo(json.dumps(done, ensure_ascii=False))
    elif not quiet:
        click.echo(printable(published_text(done)))
        close(published_places(done, command("mmconvert", "push", folder, repo_id)))
    return 0
