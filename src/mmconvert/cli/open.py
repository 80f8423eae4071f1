"""`mmconvert open`: the page of `preview` in a temporary folder, opened in the browser."""

import tempfile
import webbrowser
from pathlib import Path

import click

from mmconvert.cli.preview import PREVIEW_TERMINAL
from mmconvert.console.app import EXIT_REFUSED, OPTIONS_FILE
from mmconvert.console.help_groups import GroupedCommand
from mmconvert.console.options import add_struct_options
from mmconvert.core.text.printable import escape_control
from mmconvert.viewer.preview import PreviewOptions, preview_files

_PREFIX = "mmconvert-open-"
"""Of folders that stay when the command ends: the browser still reads the page."""


@click.command("open", cls=GroupedCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="DATASET|INPUT...")
@add_struct_options(PreviewOptions, PREVIEW_TERMINAL)
@click.option("--no-browser", is_flag=True, help="Print the path only; open no browser.")
@click.option("--quiet", is_flag=True, help="Print no progress.")
@OPTIONS_FILE
def open_page(inputs: tuple[str, ...], options: PreviewOptions, no_browser: bool, quiet: bool) -> int:
    """Show a dataset, or any file that convert reads, in the browser.

    Writes the page of `mmconvert preview` to a temporary folder, prints its path and opens it. The page stays there
    until you or the system clear the temporary folder.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    page = folder / "preview.html"
    try:
        done = preview_files(inputs, page, options, quiet=quiet)
    except BaseException:
        page.unlink(missing_ok=True)
        folder.rmdir()
        raise
    click.echo(escape_control(str(page)))
    if not no_browser and not webbrowser.open(page.as_uri()):
        click.echo(escape_control(f"mmconvert: no browser was found. Open the page by hand: {page.as_uri()}"), err=True)
    return EXIT_REFUSED if done.files_refused and not done.rows else 0
