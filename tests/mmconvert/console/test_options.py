"""A command's options are the fields of its struct: names, types, defaults, help, and one wording for a wrong value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import click
import msgspec
import pytest

from mmconvert.console.completion_types import refine
from mmconvert.console.options import add_struct_options
from mmconvert.core.errors import UsageError
from mmconvert.core.option_fields import Place, build_options


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a command."""

    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Stop after N."""
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
    """Part of the rows."""
    whole: int = 3
    """A whole number."""
    batch_size: Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"] = "auto"
    """Rows at once."""
    view: Literal["eval", "sft"] = "eval"
    """Layout."""
    root: tuple[Annotated[Path, Place(exists=True, folder=True)], ...] = ()
    """Folder."""
    overwrite: bool = False
    """Replace it."""
    hidden: object = None
    """For Python alone."""


@click.command()
@add_struct_options(
    Work,
    {"limit": {"metavar": "N", "short": "-l"}},
    without=["hidden"],
    before={"view": click.option("--own", is_flag=True, help="The command's own.")},
)
def work(own: bool, options: Work) -> Work:
    """Work."""
    return options


refine(work)


def ran(*arguments: str) -> Work:
    return work.main(list(arguments), standalone_mode=False)


def test_the_command_gets_its_struct(tmp_path: Path) -> None:
    assert ran() == Work()
    assert ran("-l", "5", "--batch-size", "8", "--root", str(tmp_path), "--view", "sft", "--overwrite") == Work(
        limit=5, batch_size=8, root=(tmp_path,), view="sft", overwrite=True
    )


def test_help_is_the_text_of_the_fields() -> None:
    shown = work.get_help(click.Context(work, info_name="work", terminal_width=100))
    assert [" ".join(line.split()) for line in shown.splitlines()[5:]] == [
        "-l, --limit N Stop after N. [x>=1]",
        "--share X Part of the rows. [default: 0.5; 0<x<1]",
        "--whole N A whole number. [default: 3]",
        "--batch-size TEXT Rows at once. [default: auto]",
        "--own The command's own.",
        "--view [eval|sft] Layout. [default: eval]",
        "--root DIRECTORY Folder.",
        "--overwrite Replace it.",
        "--help Show this message and exit.",
    ]


@pytest.mark.parametrize(
    "given",
    [
        *({"limit": "x"}, {"limit": "0"}, {"share": "x"}, {"share": "1"}, {"whole": "1.5"}, {"batch_size": "0"}),
        *({"view": "stf"}, {"root": "none"}, {"root": __file__}),
    ],
)
def test_a_wrong_value_is_refused_in_the_same_words_everywhere(given: Mapping[str, str]) -> None:
    ((name, value),) = given.items()
    with pytest.raises(click.UsageError) as typed:
        ran(f"--{name.replace('_', '-')}", value)
    with pytest.raises(UsageError) as called:
        build_options(Work, given, "work")
    at_the_terminal = typed.value.format_message().replace("'-l' / ", "")
    assert str(called.value) == f"work: {at_the_terminal}"


def test_a_table_names_fields_alone() -> None:
    with pytest.raises(TypeError, match="Work has no limt"):
        add_struct_options(Work, {"limt": {}})
