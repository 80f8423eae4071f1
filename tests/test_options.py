"""Every option of a command is a field of its struct, and so is every keyword of its Python function."""

import importlib
import inspect
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import click
import msgspec
import pytest

import mmconvert
from mmconvert import api
from mmconvert.core.option_fields import option_fields, option_texts
from mmconvert.dataset.publish import PushOptions
from mmconvert.dataset.views import VIEWS, ViewName
from mmconvert.pipeline.convert_files import ConvertOptions
from mmconvert.pipeline.export import ExportOptions
from mmconvert.pipeline.read import FileOptions
from mmconvert.viewer.preview import PreviewOptions

AT_THE_TERMINAL = {
    "convert": "output allow_rejects push json quiet options",
    "check": "json quiet options",
    "inspect": "json options",
    "export": "output allow_rejects json quiet options",
    "preview": "output json quiet options",
    "push": "json quiet options",
    "verify": "json quiet",
    "list": "json",
    "check-plugin": "json options",
    "demo": "files_only",
    "completion": "",
}
"""Options of a command that say where it writes, or what it prints; all others are fields."""

FUNCTIONS: dict[Any, tuple[type[msgspec.Struct], type]] = {
    mmconvert.convert: (ConvertOptions, api.ConvertKeywords),
    mmconvert.check: (FileOptions, api.FileKeywords),
    mmconvert.inspect: (FileOptions, api.FileKeywords),
    mmconvert.export: (ExportOptions, api.ExportKeywords),
    mmconvert.preview: (PreviewOptions, api.PreviewKeywords),
    mmconvert.push: (PushOptions, api.PushKeywords),
}
NAMED = {mmconvert.export: {"to"}}
"""Fields that a function names in its own signature."""


@pytest.mark.parametrize("name", AT_THE_TERMINAL)
def test_every_option_of_a_command_is_a_field(name: str) -> None:
    program = importlib.import_module("mmconvert.cli").program
    assert set(program.commands_in) == set(AT_THE_TERMINAL)
    options = [p for p in program.get_command(click.Context(program), name).params if isinstance(p, click.Option)]
    own = {max(p.opts, key=len).lstrip("-").replace("-", "_") for p in options if not hasattr(p, "struct")}
    assert own == set(AT_THE_TERMINAL[name].split())
    for option in options:
        if hasattr(option, "struct"):
            assert option.help == option_texts(option.struct)[option.name]


def members(hint: Any) -> frozenset[Any]:
    """What a keyword may be, where the field has this type: one value may stand for several, a text for a path."""
    if get_origin(hint) is Annotated:
        return members(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return frozenset().union(*map(members, get_args(hint)))
    if get_origin(hint) in (tuple, Sequence) or getattr(get_origin(hint), "__name__", "") == "Sequence":
        one = members(get_args(hint)[0])
        return (one if get_origin(hint) is tuple else frozenset()) | {("several", one)}
    if hint is Path:
        return frozenset({str, Path})
    return frozenset({("words", get_args(hint))}) if get_origin(hint) is Literal else frozenset({hint})


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_keywords_have_the_names_and_types_of_the_fields(function: Any) -> None:
    struct, keywords = FUNCTIONS[function]
    fields = {name: members(hint) for name, hint in get_type_hints(struct, include_extras=True).items()}
    typed = {name: members(hint) for name, hint in get_type_hints(keywords).items()}
    assert typed == {name: kind for name, kind in fields.items() if name not in NAMED.get(function, set())}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_help_lists_every_option_with_default_and_meaning(function: Any) -> None:
    struct, _ = FUNCTIONS[function]
    parameters = inspect.signature(function).parameters
    said = " ".join(inspect.getdoc(function).split())
    assert "**" not in said
    for name, field in option_fields(struct).items():
        if name not in NAMED.get(function, set()):
            assert parameters[name].default == field.default
            assert f" {name}: " in said
            assert f"[default: {field.default!r}]" in said


def test_the_words_of_an_option_are_those_that_are_honoured() -> None:
    assert list(get_args(ViewName)) == list(VIEWS)
