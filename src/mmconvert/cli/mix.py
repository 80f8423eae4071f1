"""`mmconvert mix`: several datasets into one, by weights."""

import json

import click

from mmconvert.console.app import OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close
from mmconvert.core.text.printable import escape_control
from mmconvert.curation.mix import MixedSource, MixOptions, mix_datasets

_TERMINAL = {"split": {"metavar": "NAME"}, "output_split": {"metavar": "NAME"}, "engine": {"metavar": "NAME"}}


@click.command(cls=GroupedCommand)
@click.argument("sources", nargs=-1, required=True, metavar="[NAME=]DATASET[:WEIGHT]...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Output directory, or its URL (s3://BUCKET/DIR).")
@add_struct_options(MixOptions, _TERMINAL)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@OPTIONS_FILE
def mix(sources: tuple[str, ...], output: str, options: MixOptions, as_json: bool, quiet: bool) -> int:
    """Mix datasets into one, by weights.

    DATASET is a folder made by `mmconvert convert`, a parquet file with its columns, a URL, or USER/REPO on the Hub.
    Sources without a weight share what the others leave of 1, by their size. Instead of sources, a YAML file lists
    datasets as LLaVA-OneVision does: json_path, and sampling_strategy all, first:N, end:N or random:N (N or N%).
    Choice and order depend on --seed, the name of the source and the id of the row.
    """
    mixed = mix_datasets(sources, output, options, quiet=quiet or as_json)
    if as_json:
        click.echo(json.dumps(mixed.to_json(), ensure_ascii=False))
    elif not quiet:
        click.echo(escape_control(f"{mixed.output}: {mixed.rows:,} rows of {len(mixed.sources)} sources"))
        close({source.name: _describe_source(source) for source in mixed.sources})
        if mixed.asked is not None and mixed.rows < mixed.asked:
            more = "--exhausted repeat takes rows again" + (
                ", once continues with the others" if mixed.exhausted == "stop" else ""
            )
            click.echo(f"{mixed.asked:,} rows were requested; a source has no more. {more}.", err=True)
    return 0


def _describe_source(source: MixedSource) -> str:
    distinct = source.taken - source.repeated
    share = "" if source.share is None else f", share {source.share:.4g}"
    repeated = f", {source.repeated:,} repetitions of them" if source.repeated else ""
    renamed = f"; ids begin with {source.name}-, another source has some of them" if source.renamed else ""
    return f"{distinct:,} of {source.rows:,} rows{repeated}{share}{renamed}"
