"""What the parameters of every command do beyond click's own: complete names and files, and name the nearest.

A command gets this when it is loaded, so that a new option has it by its name and metavar alone.
"""

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from mmconvert.core.errors import suggest_paths, suggest_spelling
from mmconvert.plugins.listing import list_kinds
from mmconvert.plugins.registry import find_plugins

_PLUGINS = {
    "--format": "mmconvert.formats",
    "--to": "mmconvert.formats",
    "--transform": "mmconvert.transforms",
    "--prompt": "mmconvert.prompts",
    "--read-as": "mmconvert.readings",
    "--engine": "mmconvert.engines",
    "--recipe": "mmscore.recipes",
    "--judge": "mmscore.judges",
    "--backend": "mmscore.infer.backends",
    "--protocol": "mmscore.infer.protocols",
}
"""Options whose value is the name of a plug-in."""

_PLACES = (None, "FILE", "DIR", "DIR|ID|NAME", "DATASET", "FILE.py")
"""Metavars of texts that name a place; a text without one does as well."""


def refine(command: click.Command) -> None:
    """Give the parameters of a command completion, and wrong values the nearest right one."""
    for param in command.params:
        if param.type is click.STRING:
            param.type = _TEXT
        elif type(param.type) is click.Choice:
            param.type = _Choice(param.type.choices, param.type.case_sensitive)
        elif type(param.type) is click.Path:
            param.type = NearPath.like(param.type)


class _Text(StringParamType):
    """A text that names a plug-in, a kind of them, a place, or nothing that is known."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        group = next((_PLUGINS[flag] for flag in param.opts if flag in _PLUGINS), None)
        if group is not None and not {"/", "."} & set(incomplete):
            found = [one for one in find_plugins(group).values() if one.name.startswith(incomplete)]
            return [CompletionItem(one.name, help=one.read_summary()) for one in found]
        if param.name == "kind":
            package = str(ctx.find_root().info_name)
            return [CompletionItem(kind) for kind in list_kinds(package) if kind.startswith(incomplete)]
        placed = isinstance(param, click.Argument) or getattr(param, "metavar", None) in _PLACES
        return [CompletionItem(incomplete, type="file")] if placed or group is not None else []


_TEXT = _Text()


def list_options(group: str) -> list[str]:
    """Name the options whose value is a plug-in of a group."""
    return [flag for flag, named in _PLUGINS.items() if named == group]


class _Choice(click.Choice[Any]):
    """One of several words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        message = super().get_invalid_choice_message(value, ctx)
        return f"{message}{suggest_spelling(str(value), map(str, self.choices))}"


class NearPath(click.Path):
    """A path whose message names the nearest one where nothing stands."""

    @classmethod
    def like(cls, path: "click.Path[Any]") -> "NearPath":
        """Check a path as another type does."""
        near = cls()
        vars(near).update(vars(path))
        return near

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check a path; one that is missing is met with its neighbours."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if os.path.lexists(value):
                raise
            raise click.BadParameter(f"{error.message}{suggest_paths(Path(value))}", ctx, param) from None
