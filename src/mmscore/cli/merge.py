"""`mmscore merge`: the shards of a run as one predictions file."""

import json

import click
from msgspec.structs import asdict

from mmconvert.console.app import EXIT_PARTIAL
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close, format_command
from mmconvert.core.text.printable import escape_control
from mmscore.infer.shards import MergeOptions, merge_shards


@click.command(cls=GroupedCommand)
@click.argument("shards", nargs=-1, required=True, metavar="FILES...")
@click.option("-o", "--output", required=True, metavar="FILE", help="Output file (parquet), or its URL (s3://...).")
@add_struct_options(MergeOptions)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no summary.")
def merge(shards: tuple[str, ...], output: str, as_json: bool, quiet: bool, options: MergeOptions) -> int:
    """Merge the predictions files of all shards of a run (mmscore predict --shard I/N) into one.

    FILES are the shards in any order, local or at URLs. The output has the same bytes as the file of one process. A
    shard that is missing, unfinished, given twice or of another run is named, and nothing is written (exit code 1).

    Exit code 3: the file is written, but some samples have no response. Run the shards again with --resume.
    """
    merged = merge_shards(shards, output, options)
    if as_json:
        click.echo(json.dumps(asdict(merged)))
    elif not quiet:
        failed = f", {merged.failed:,} failed (see prediction_error)" if merged.failed else ""
        click.echo(escape_control(f"{merged.output}: {merged.rows:,} samples of {merged.shards:,} shards{failed}"))
        close({"next": format_command("mmscore", merged.output)}, err=True)
    return EXIT_PARTIAL if merged.failed else 0
