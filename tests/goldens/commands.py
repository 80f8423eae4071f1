"""The command that a golden rule serves: whether it exists, with its options and the plug-ins that it names.

A command is a line to type (`mmscore score --recipe mmmu_val@eval_only`), or a name that users import from a
compatibility layer (`mmscore.compat.vlmevalkit.CIRCULAR`).
"""

import importlib
import shlex

import click

from mmconvert.cli import program as mmconvert_program
from mmconvert.core.errors import Error
from mmconvert.pipeline.prompting import load_prompt
from mmconvert.plugins.registry import load
from mmscore.cli import program as mmscore_program
from mmscore.core.select_recipe import find_recipe

PROGRAMS = {"mmconvert": mmconvert_program, "mmscore": mmscore_program}
PLUGINS = {
    "--recipe": find_recipe,
    "--prompt": load_prompt,
    "--format": lambda name: load("mmconvert.formats", name),
    "--read-as": lambda name: load("mmconvert.readings", name),
    "--transform": lambda name: load("mmconvert.transforms", name.partition(":")[0]),
    "--judge": lambda name: load("mmscore.judges", name.partition("@")[0]),
}
"""Options whose values are plug-ins, and what opens one."""
LAYER = "mmscore.compat."


def find_problem(command: str) -> str | None:
    """Say what is wrong with a command, None where it exists."""
    try:
        words = shlex.split(command)
        return _find_in_layer(command) if len(words) == 1 else _find_in_command_line(*words)
    except (Error, ImportError, ValueError) as error:
        return f"{command!r}: {error}"


def _find_in_layer(dotted: str) -> str | None:
    module, _, name = dotted.rpartition(".")
    if not module.startswith(LAYER):
        return f"{dotted!r}: neither a line to type nor a name below {LAYER}"
    layer = importlib.import_module(module)
    own = {name for name, value in vars(layer).items() if getattr(value, "__module__", None) == module}
    return None if name in getattr(layer, "__all__", own) else f"{dotted!r}: users are not given this name"


def _find_in_command_line(program: str, verb: str, *words: str) -> str | None:
    group = PROGRAMS.get(program)
    if group is None:
        return f"no program {program!r}"
    command = group.get_command(click.Context(group), verb)
    if command is None:
        return f"{program} has no command {verb!r}"
    known = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
    for place, word in enumerate(words):
        if word.startswith("--") and word not in known:
            return f"{program} {verb} has no option {word}"
        if word in PLUGINS:
            PLUGINS[word](words[place + 1])
    return None
