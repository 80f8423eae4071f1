"""`mmconvert convert`: files of any known format into one dataset."""

import contextlib
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from mmconvert.cli.image_root import image_root_option
from mmconvert.cli.push import check_push, origin_options, publish, published_text, push_options
from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.summary import close, command
from mmconvert.core.errors import UsageError, got
from mmconvert.core.progress import Done, progress
from mmconvert.core.record import TASKS
from mmconvert.core.text.printable import printable
from mmconvert.dataset.card import Origin
from mmconvert.dataset.manifest import DEFAULT_CONFIG
from mmconvert.dataset.publish import check_free, send
from mmconvert.dataset.views import EVAL, VIEWS
from mmconvert.pipeline.convert import ReadOptions, Summary, WriteOptions
from mmconvert.pipeline.convert import convert as run_convert
from mmconvert.pipeline.inputs import plan
from mmconvert.storage.object_store import is_url

_READ_SO = (
    *("image_roots", "dataset", "task", "max_rows", "keep_urls", "allow_remote"),
    *("limit", "transforms", "seed", "prompt", "prompt_suffix", "read_as"),
)
_WRITTEN_SO = ("overwrite", "append", "rejects", "allow_empty", "view", "workers", "engine", "share")
"""Options that are fields of `ReadOptions` and `WriteOptions`, by the same name."""
_EXCLUSIVE = (("append", "overwrite"), ("share", "append"), ("share", "overwrite"), ("keep_urls", "allow_remote"))


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o", "--output", required=True, metavar="DIR", help="Folder to publish, or its URL in a store (s3://BUCKET/DIR)."
)
@click.option(
    "--format", "format_", metavar="NAME", help="Format, or file.py@NAME; guessed from the content by default."
)
@image_root_option
@click.option("--split", metavar="NAME", help="Split name of files (default: test); a dataset of ours brings its own.")
@click.option("--config-name", default=DEFAULT_CONFIG, show_default=True, metavar="NAME", help="Config name.")
@click.option(
    "--subset", "subsets", multiple=True, metavar="NAME", help="Only these files of a folder; or the file's subset."
)
@click.option("--dataset", metavar="NAME", help="Benchmark name, as its kit spells it.")
@click.option("--task", type=click.Choice(TASKS), help="Task of every record.")
@click.option(
    "--transform", "transforms", multiple=True, metavar="NAME[:k=v,...]", help="Step for every record; repeat in order."
)
@click.option("--prompt", metavar="NAME[:k=v,...]", help="How a kit words the question: new last user turn.")
@click.option("--prompt-suffix", metavar="TEXT", help="Text behind the last user turn.")
@click.option(
    "--read-as", metavar="KIT", help="Read as lossily as this kit, for parity; takes the whole table into memory."
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of what transforms draw.")
@click.option(
    "--view",
    type=click.Choice([*VIEWS]),
    default=EVAL,
    show_default=True,
    help="Lay rows out for training: the answer as the assistant's turn, or as prompt and completion.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N records of each file, or of each split of a dataset; what one row gives is kept together.",
)
@click.option(
    "--on-bad", type=click.Choice(["reject", "fail"]), default="reject", show_default=True, help="Refused rows."
)
@click.option(
    "--rejects", type=click.Path(path_type=Path), metavar="FILE", help="Refused rows (default DIR.rejects.jsonl)."
)
@click.option("--allow-rejects", is_flag=True, help="Exit with 0 even if rows were refused.")
@click.option("--allow-empty", is_flag=True, help="Publish a dataset without rows.")
@click.option("--verify", type=click.Choice(["structure", "decode"]), default="structure", show_default=True)
@click.option("--max-rows", type=click.IntRange(min=1), metavar="N", help="Refuse a file with more rows.")
@click.option(
    "--max-image-mb",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    metavar="N",
    help="Largest picture.",
)
@click.option("--keep-urls", is_flag=True, help="Keep http(s) pictures as references.")
@click.option("--allow-remote", is_flag=True, help="Fetch http(s) pictures and https tables, from public hosts only.")
@click.option("--md5", metavar="HEX", help="MD5 that the table of an https INPUT must have.")
@click.option("--sha256", metavar="HEX", help="SHA-256 that the table of an https INPUT must have.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes (default: one a core, where the files are large enough).",
)
@click.option(
    "--engine", default="local", show_default=True, metavar="NAME", help="Where they run: local, ray (a Ray cluster)."
)
@click.option("--append", is_flag=True, help="Add a split or config to the dataset that stands there.")
@click.option("--overwrite", is_flag=True, help="Replace the dataset that stands there.")
@click.option("--share", is_flag=True, help="Let other processes that are started so convert parts of the same DIR.")
@origin_options
@click.option("--push", "repo_id", metavar="USER/REPO", help="Publish the dataset on the Hub afterwards.")
@push_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no summary.")
@OPTIONS_FILE
def convert(
    inputs: tuple[str, ...],
    output: str,
    allow_rejects: bool,
    repo_id: str | None,
    private: bool,
    revision: str | None,
    create_pr: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Turn files of any known format into one dataset.

    INPUT is a file, a folder of files of one format, split=PATH, - for standard input, the bare name of a
    table in $LMUData, the URL of a file or folder in a store (s3://BUCKET/FILE), a dataset on the Hub
    (USER/REPO[@REVISION]), or with --allow-remote the https address of such a table. The dataset appears whole
    or not at all; refused rows are written to a file.
    """
    if repo_id is not None and given["share"]:
        raise click.UsageError("--share and --push exclude each other: each process would push. Push it afterwards.")
    if repo_id is not None:
        check_push(repo_id, revision=revision, create_pr=create_pr)
    elif private or revision or create_pr or dry_run:
        raise click.UsageError("--private, --revision, --create-pr and --dry-run go with --push USER/REPO.")
    pushes: dict[str, Any] = {"private": private, "revision": revision, "create_pr": create_pr, "dry_run": dry_run}
    pushed: list[dict[str, Any]] = []

    def push(folder: Path) -> None:
        if repo_id is not None:
            pushed.append(publish(folder, repo_id, quiet=quiet or as_json, **pushes))

    # What a plug-in prints, or a cluster, must not stand between the lines that a program reads here.
    with contextlib.redirect_stdout(sys.stderr):
        summary = converted(inputs, output, given, quiet=quiet, then=push)
    if as_json:
        more = {"push": pushed[0]} if pushed else {}
        click.echo(json.dumps({**summary.to_json(), **more}, ensure_ascii=False))
    elif not quiet:
        click.echo(printable(_summary_text(summary)))
        close(_places(summary))
        for done in pushed:
            click.echo(printable(published_text(done)))
    return EXIT_PARTIAL if summary.rows_rejected and not allow_rejects else 0


def converted(
    inputs: Sequence[str],
    output: str,
    given: Mapping[str, Any],
    *,
    quiet: bool,
    then: Callable[[Path], None] = lambda folder: None,
) -> Summary:
    """Do what the command does, for its options by parameter name.

    Args:
        inputs: Files, folders, names and URLs as the user writes them.
        output: Folder that shall appear, or its URL.
        given: The command's options that say how to read and write.
        quiet: No progress.
        then: Called at the end with the dataset's folder, which goes away afterwards where the output is a URL.

    Raises:
        UsageError: Options exclude each other, or as `mmconvert.pipeline.convert.convert`.
        Error: As there.
    """
    for one, other in _EXCLUSIVE:
        if given[one] and given[other]:
            flags = [f"--{name.replace('_', '-')}" for name in (one, other)]
            raise UsageError(f"{flags[0]} and {flags[1]} exclude each other. Leave one out.")
    if not math.isfinite(given["max_image_mb"]):
        raise UsageError(f"--max-image-mb: expected a number of MiB {got(given['max_image_mb'])}.")
    how = ReadOptions(
        format=given["format_"],
        decode=given["verify"] == "decode",
        max_image_bytes=int(given["max_image_mb"] * (1 << 20)),
        **{name: given[name] for name in _READ_SO},
    )
    where = WriteOptions(
        config=given["config_name"],
        fail_on_bad=given["on_bad"] == "fail",
        origin=Origin(given["license"], given["source"]),
        **{name: given[name] for name in _WRITTEN_SO},
    )
    download = _download(inputs, given["allow_remote"], given["md5"], given["sha256"])
    with _place(output, where) as (folder, where):
        planned = plan(
            inputs,
            split=given["split"],
            subsets=given["subsets"],
            download=download,
            # Whoever reads a split alone knows when to stop.
            whole_splits=how.limit is not None,
        )
        with progress("convert", quiet=quiet) as advance:
            told = None if quiet else lambda rows, size, share: advance(Done(rows, size, share=share))
            summary = run_convert(planned, folder, how, where, told)
        if is_url(output):
            send(folder, output)
            summary.output = output
        then(folder)
    return summary


@contextlib.contextmanager
def _place(output: str, where: WriteOptions) -> Iterator[tuple[Path, WriteOptions]]:
    """Give the folder on this machine that a dataset is written into, and how; for a URL one that goes away."""
    if not is_url(output):
        yield Path(output), where
        return
    if where.share:
        raise UsageError(
            "--share: the processes meet beside the output, on a disk that all of them see. Name a folder."
        )
    if where.append:
        raise UsageError("--append: a store has no dataset that could be added to in one step. Convert it whole.")
    check_free(output, overwrite=where.overwrite)
    name = output.rstrip("/").rpartition("/")[2]
    with tempfile.TemporaryDirectory(prefix="mmconvert-") as folder:
        yield Path(folder, name), replace(where, rejects=where.rejects or Path(f"{name}.rejects.jsonl"))


def _download(
    inputs: Sequence[str], allowed: bool, md5: str | None, sha256: str | None
) -> Callable[[str], Path] | None:
    if (md5 or sha256) and not (allowed and len(inputs) == 1 and "://" in inputs[0]):
        raise UsageError("--md5 and --sha256 check the one table that --allow-remote fetches.")
    if not allowed:
        return None
    from mmconvert.kits.vlmevalkit.lmu_download import download_table  # a client of the network takes time to load

    return partial(download_table, md5=md5, sha256=sha256)


def _summary_text(summary: Summary) -> str:
    splits = ", ".join(f"{name}: {rows:,}" for name, rows in summary.splits.items())
    rate = summary.bytes / 1e6 / summary.seconds if summary.seconds else 0
    counts = f"{summary.rows_written:,} rows ({splits}), {summary.images:,} pictures"
    lines = [
        f"{summary.output}: {counts}, {summary.seconds:.1f} s, {rate:.0f} MB/s, read as {summary.format}",
        *(f"warning: {warning}" for warning in summary.warnings),
    ]
    lines += [f"refused: {reason}" for reason in summary.reasons if summary.rejects]
    return "\n".join(lines)


def _places(summary: Summary) -> dict[str, str | None]:
    refused = f"{summary.rows_rejected:,} of {summary.rows_read:,} rows, reasons in {summary.rejects}"
    use = [summary.output]
    if not summary.predicted:
        use = ["predict", summary.output, "-o", "predictions.parquet", "--model", "MODEL"]
    return {
        "dataset": f"load_dataset({summary.output!r})",
        "refused": refused if summary.rejects else None,
        "next": command("mmscore", *use),
    }
