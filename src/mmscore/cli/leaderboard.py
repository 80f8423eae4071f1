"""`mmscore leaderboard`: many reports as one static page."""

import json
from pathlib import Path

import click

from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.console.summary import close, format_command
from mmconvert.core.text.printable import escape_control
from mmscore.reporting.leaderboard_page import to_json
from mmscore.workflow.leaderboard import PAGE, LeaderboardOptions, write_leaderboard


@click.command(cls=GroupedCommand)
@click.argument("reports", type=click.Path(path_type=Path), metavar="DIR")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="New folder.")
@add_struct_options(LeaderboardOptions, {"title": {"metavar": "TEXT"}})
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
def leaderboard(reports: Path, output: Path, as_json: bool, quiet: bool, options: LeaderboardOptions) -> int:
    """Gather all reports below DIR into one page of models and scores.

    Each model is a line, each dataset under one recipe a column with the recipe's first metric. Models are ordered by
    their average place; one that lacks a score is marked. The output folder has the page (index.html), its data
    (leaderboard.json, leaderboard.csv) and a README.md that makes it a static Space on the Hub.
    """
    board = write_leaderboard(reports, output, options)
    if as_json:
        click.echo(json.dumps(to_json(board), ensure_ascii=False))
    elif not quiet:
        lines, columns = len(board.lines), len(board.columns)
        click.echo(escape_control(f"{output / PAGE}: {lines} models, {columns} datasets under a recipe"))
        close({"next": format_command("hf", "upload", "ORG/SPACE", output, "--repo-type", "space")}, err=True)
    return 0
