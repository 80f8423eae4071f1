"""The `mmconvert` program: one file a command, imported when it runs."""

import os
from typing import NoReturn

import click

from mmconvert import __version__
from mmconvert.command_line import LazyGroup, run

COMMANDS = {
    "convert": ("mmconvert.cli.convert:convert", "Turn files of any known format into one dataset."),
    "export": ("mmconvert.cli.export:export", "Write a dataset back in another format."),
    "inspect": ("mmconvert.cli.inspect:inspect", "Say which format a file has, and why; writes nothing."),
    "check": ("mmconvert.cli.check:check", "Name every problem with file, row and field; writes nothing."),
    "preview": ("mmconvert.cli.preview:preview", "Show rows on one page, as a model sees them, with their pictures."),
    "push": ("mmconvert.cli.push:push", "Publish a converted dataset on the Hub."),
    "verify": ("mmconvert.cli.verify:verify", "Re-read every byte of a dataset against its manifest."),
    "list": ("mmconvert.cli.list:list_plugins", "Show the formats and other plug-ins."),
    "check-plugin": ("mmconvert.cli.check_plugin:check_plugin", "Try a plug-in of yours against what each one owes."),
    "demo": ("mmconvert.cli.demo:demo", "Run the main job on small example files in a scratch folder."),
}


@click.group(
    cls=LazyGroup,
    commands_in=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Next: mmscore predict DATASET, mmscore PREDICTIONS.",
)
@click.version_option(__version__, prog_name="mmconvert")
def program() -> None:
    """Files of any multimodal kit in, one Arrow dataset out."""


def main() -> NoReturn:
    """Run the program; the console script's entry point."""
    # numpy comes with pyarrow and would start a thread a core in every worker, which nothing here uses.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    run(program, program="mmconvert")
