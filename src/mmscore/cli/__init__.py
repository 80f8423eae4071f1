"""The `mmscore` program: one file a command, imported when it runs."""

from typing import NoReturn

import click

from mmconvert import __version__
from mmconvert.command_line import LazyGroup, run
from mmscore.compat import kit_imports

COMMANDS = {
    "score": ("mmscore.cli.score:score", "Give the number a kit would give (the default command)."),
    "predict": ("mmscore.cli.predict:predict", "Fill the prediction column with a model."),
    "run": ("mmscore.cli.run:run", "Datasets x models x recipes from one file."),
    "compare": ("mmscore.cli.compare:compare", "Hold two predictions files against each other, row by row."),
    "explain": ("mmscore.cli.explain:explain", "Show the rule that fired in each row, and why two recipes differ."),
    "judge": ("mmscore.cli.judge:judge", "Ask a judge model about every row, and keep its replies."),
    "rank": ("mmscore.cli.rank:rank_models", "Rank models over many datasets: average score, average rank."),
    "submit": ("mmscore.cli.submit:submit", "Write predictions as the file that a benchmark's server takes."),
    "bundle": ("mmscore.cli.bundle:bundle", "Put a score and all it depends on into one folder."),
    "verify": ("mmscore.cli.verify:verify", "Recompute a bundle and compare every number."),
    "list": ("mmscore.cli.list:list_plugins", "Show the recipes, metrics and other plug-ins."),
}

# Files of users, named as file.py@name, may import the kit that they were written for.
kit_imports.install()


@click.group(
    cls=LazyGroup,
    commands_in=COMMANDS,
    default="score",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`mmscore FILE` is short for `mmscore score FILE`.",
)
@click.version_option(__version__, prog_name="mmscore")
def program() -> None:
    """Predictions in, the number each original kit would give out."""


def main() -> NoReturn:
    """Run the program; the console script's entry point."""
    run(program, program="mmscore")
