"""`mmconvert convert`: files of any known format into one dataset."""

import contextlib
import json
import sys
from pathlib import Path

import click

from mmconvert.cli.push import ORIGIN, UPLOAD
from mmconvert.console.app import EXIT_PARTIAL, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.published import format_load_call, format_next_step, format_published
from mmconvert.console.summary import close, describe_chosen
from mmconvert.core.text.printable import escape_control
from mmconvert.dataset.publish import Pushed, UploadOptions, check_target, publish
from mmconvert.pipeline.convert import Summary
from mmconvert.pipeline.convert_files import ConvertOptions, convert_files

_TERMINAL = {
    "format": {"metavar": "NAME"},
    "image_root": {"metavar": "DIR"},
    "map": {"metavar": "FIELD=COLUMN"},
    "split": {"metavar": "NAME"},
    "config_name": {"metavar": "NAME"},
    "subset": {"metavar": "NAME"},
    "dataset": {"metavar": "NAME"},
    "where": {"metavar": "CONDITION"},
    "transform": {"metavar": "NAME[:k=v,...]"},
    "prompt": {"metavar": "NAME[:k=v,...]"},
    "prompt_suffix": {"metavar": "TEXT"},
    "read_as": {"metavar": "FRAMEWORK"},
    "rejects": {"metavar": "FILE"},
    "allow_host": {"metavar": "NAME[:PORT]"},
    "md5": {"metavar": "HEX"},
    "sha256": {"metavar": "HEX"},
    "engine": {"metavar": "NAME"},
}
_ALLOW_REJECTS = click.option("--allow-rejects", is_flag=True, help="Exit with 0 although rows were skipped.")


@click.command(cls=GroupedCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Output directory, or its URL (s3://BUCKET/DIR).")
@add_struct_options(ConvertOptions, _TERMINAL | ORIGIN, before={"allow_empty": _ALLOW_REJECTS})
@click.option("--push", "repo_id", metavar="USER/REPO", help="Push the dataset to the Hub afterwards.")
@add_struct_options(UploadOptions, UPLOAD, into="upload")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def convert(
    inputs: tuple[str, ...],
    output: str,
    options: ConvertOptions,
    allow_rejects: bool,
    repo_id: str | None,
    upload: UploadOptions,
    as_json: bool,
    quiet: bool,
) -> int:
    """Convert files of any supported format to one dataset.

    INPUT is a file, a folder of files of one format, split=PATH, - for standard input, a benchmark's name (see
    mmconvert list benchmarks; --allow-remote fetches its table), the name of a table in $LMUData, an object store
    URL (s3://BUCKET/FILE), a dataset on the Hub (USER/REPO[@REVISION]), or with --allow-remote the https address of a
    table. The output directory is written atomically. Invalid rows are skipped
    and listed with their reasons. `mmconvert split` divides the dataset into train and validation afterwards.
    """
    if repo_id is not None and options.share:
        raise click.UsageError("--share and --push exclude each other: each process would push. Push afterwards.")
    if repo_id is not None:
        check_target(repo_id, upload)
    elif upload != UploadOptions():
        raise click.UsageError("--private, --revision, --create-pr and --dry-run go with --push USER/REPO.")
    pushed: list[Pushed] = []

    def push(folder: Path) -> None:
        if repo_id is not None:
            pushed.append(publish(folder, repo_id, upload, quiet=quiet or as_json))

    # What a plug-in prints, or a cluster, must not stand between the lines that a program reads here.
    with contextlib.redirect_stdout(sys.stderr):
        summary = convert_files(inputs, output, options, quiet=quiet, then=push)
    if as_json:
        more = {"push": pushed[0]} if pushed else {}
        click.echo(json.dumps({**summary.to_json(), **more}, ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(_format_summary(summary)))
        close(_list_places(summary, options))
        for done in pushed:
            click.echo(escape_control(format_published(done)))
    return EXIT_PARTIAL if summary.rows_rejected and not allow_rejects else 0


def _format_summary(summary: Summary) -> str:
    splits = ", ".join(f"{name}: {rows:,}" for name, rows in summary.splits.items())
    rate = summary.bytes / 1e6 / summary.seconds if summary.seconds else 0
    counts = f"{summary.rows_written:,} rows ({splits}), {summary.images:,} images"
    lines = [
        f"{summary.output}: {counts}, {summary.seconds:.1f} s, {rate:.0f} MB/s, read as {summary.format}",
        *(f"benchmark: {benchmark}" for benchmark in summary.benchmarks),
        *(f"columns: read with {columns}" for columns in summary.columns),
        *describe_chosen(summary.rows_written, summary.rows_unmatched, summary.rows_read, summary.rows_undrawn),
        *(f"warning: {warning}" for warning in summary.warnings),
    ]
    lines += [f"skipped: {reason}" for reason in summary.reasons if summary.rejects]
    return "\n".join(lines)


def _list_places(summary: Summary, options: ConvertOptions) -> dict[str, str | None]:
    skipped = f"{summary.rows_rejected:,} of {summary.rows_read:,} rows, reasons in {summary.rejects}"
    splits = [split for split, rows in summary.splits.items() if rows]
    load_call = format_load_call(summary.output, splits, options.config_name)
    return {
        "dataset": load_call,
        "skipped": skipped if summary.rejects else None,
        "next": format_next_step(summary.output, load_call, options.view, splits, predicted=bool(summary.predicted)),
    }
