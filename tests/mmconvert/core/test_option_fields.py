"""One struct describes an option for help, keywords and files: what it takes, and what is said of a wrong value."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from mmconvert.core.errors import UsageError
from mmconvert.core.option_fields import Place, build_options, list_option_fields, read_option_docs


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """Options of several commands."""

    format: str | None = None
    """Format of the files."""


class Options(Common, frozen=True, kw_only=True):
    """Options of one command."""

    name: str
    """Name of it."""
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Stop after so many,
    and no later."""
    share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.5
    """Part of the rows."""
    seed: int = 0
    """Seed of draws."""
    batch_size: Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"] = "auto"
    """Rows at once."""
    view: Literal["eval", "sft"] = "eval"
    """Layout of rows."""
    root: tuple[Annotated[str | Path, Place(exists=True, folder=True, is_remote=lambda text: "://" in text)], ...] = ()
    """Folder of images."""
    rejects: Path | None = None
    """File of skipped rows."""
    subset: tuple[str, ...] = ()
    """Names."""
    overwrite: bool = False
    """Replace what is there."""

    def __post_init__(self) -> None:
        if self.overwrite and self.view == "sft":
            raise UsageError("--overwrite and --view sft exclude each other.")


def build(**given: object) -> Options:
    return build_options(Options, {"name": "n", **given}, "run.yaml", "work")


def test_fields_tell_what_an_option_takes() -> None:
    fields = list_option_fields(Options)
    assert list(fields)[:3] == ["format", "name", "limit"]
    assert fields["name"].default is msgspec.NODEFAULT
    assert (fields["limit"].kind, fields["limit"].limits, fields["limit"].default) == (int, {"ge": 1}, None)
    assert fields["view"].words == ("eval", "sft")
    assert (fields["subset"].several, fields["subset"].kind, fields["root"].kind) == (True, str, Path)
    assert fields["batch_size"].flag == "--batch-size"


def test_the_text_below_a_field_is_its_help() -> None:
    texts = read_option_docs(Options)
    assert set(texts) == set(list_option_fields(Options))
    assert texts["limit"] == "Stop after so many, and no later."
    assert texts["format"] == "Format of the files."


def test_values_are_read_as_their_fields_say(tmp_path: Path) -> None:
    made = build_options(
        Options,
        {
            "name": 2024,
            "limit": "3",
            "share": 1,
            "batch-size": "8",
            "subset": "a",
            "overwrite": "yes",
            "root": [tmp_path, "s3://bucket/x"],
            "rejects": "r.jsonl",
            "seed": None,
            "format": None,
        },
        "run.yaml",
    )
    assert made == Options(
        name="2024",
        limit=3,
        share=1.0,
        batch_size=8,
        subset=("a",),
        overwrite=True,
        root=(tmp_path, "s3://bucket/x"),
        rejects=Path("r.jsonl"),
    )
    assert build(subset=iter(["a", "b"])).subset == ("a", "b")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limt": 5}, "run.yaml: work has no option 'limt'. Did you mean limit?"),
        ({"name": None}, "run.yaml: Missing option '--name'."),
        ({"limit": "many"}, "run.yaml: Invalid value for '--limit': 'many' is not a valid integer range."),
        ({"limit": 0}, "run.yaml: Invalid value for '--limit': 0 is not in the range x>=1."),
        ({"share": 0}, "run.yaml: Invalid value for '--share': 0.0 is not in the range 0<x<=1."),
        ({"limit": 2.5}, "run.yaml limit: expected a whole number (got 2.5)."),
        ({"limit": True}, "run.yaml limit: YAML reads this as true or false (got True). Put it in quotes."),
        ({"batch-size": "al"}, "Invalid value for '--batch-size': expected auto or a number from 1 (got 'al')."),
        ({"view": "stf"}, "Invalid value for '--view': 'stf' is not one of 'eval', 'sft'. Did you mean sft?"),
        ({"name": ["a"]}, "run.yaml name: expected one plain value (got ['a'])."),
        ({"subset": {"a": 1}}, "run.yaml subset: expected a list of plain values (got {'a': 1})."),
        ({"root": "none"}, "run.yaml: Invalid value for '--root': Directory 'none' does not exist. See what is there:"),
        ({"root": __file__}, "is a file."),
        ({"root": "x" * 300}, "' does not exist. See what is there: ls ."),
        ({"root": "a\0b"}, "run.yaml: Invalid value for '--root': Directory 'a\\x00b' has a NUL, which no path has."),
        ({"overwrite": "perhaps"}, "Invalid value for '--overwrite': 'perhaps' is not a valid boolean. Recognized"),
        ({"overwrite": True, "view": "sft"}, "--overwrite and --view sft exclude each other."),
    ],
)
def test_a_wrong_value_is_named(given: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as error:
        build(**given)
    assert said in str(error.value)
