"""`mmconvert list`: the plug-ins available, and the benchmarks that are known by name."""

import click

from mmconvert.benchmarks.catalogue import list_benchmarks
from mmconvert.console.benchmark_table import format_benchmarks, format_benchmarks_json
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.plugin_table import format_json, format_text
from mmconvert.plugins.listing import list_plugins as find_plugins

_BENCHMARKS = "benchmarks"


@click.command("list", cls=GroupedCommand)
@click.argument("kind", required=False)
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--json", "as_object", is_flag=True, help="Print one JSON object; of benchmarks a list of objects.")
def list_plugins(kind: str | None, words: tuple[str, ...], as_object: bool) -> int:
    """List formats and other plug-ins by kind, or benchmarks.

    KIND is formats, readings, prompts, transforms or engines: each with name, summary, and origin if it is not
    mmconvert. Or it is benchmarks: names that convert takes as INPUT, with their questions, the recipe that scores
    them, and where their data is. Each WORD must occur in what is listed.
    """
    if kind == _BENCHMARKS:
        benchmarks = list_benchmarks(words)
        click.echo(format_benchmarks_json(benchmarks) if as_object else format_benchmarks(benchmarks))
        return 0
    found = find_plugins("mmconvert", kind, words, others=(_BENCHMARKS,))
    click.echo(format_json(found) if as_object else format_text("mmconvert", found))
    return 0
