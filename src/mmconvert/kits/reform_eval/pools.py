"""Instructions and one-shot examples for ReForm-Eval's families: the built-in prompts, or a file's.

A file is a JSON list of `{"classes": [...], "pools": [[name, condition, value], ...]}`: `classes` names the
framework's dataset classes that share the pools, `instruction_list` is a list of sentences for one condition,
`in_context_history` a finished round of a conversation. A condition that speaks of likelihood holds where no
options are shown, any other where they are, an empty one always. ReForm-Eval's own prompt template is read from a
checkout of it, where each class assigns the two attributes. Source of the class names:
FudanDISC/ReForm-Eval@df1cfa7 build.
"""

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.errors import Error, RowError, UsageError, show
from mmconvert.core.run_cache import cache_for_run
from mmconvert.core.text.json import parse_json
from mmconvert.core.text.python_source import parse_python
from mmconvert.storage.source_files import read_source

OWN = "reform_eval_pools.json"
_BUILT_IN = "built in, not ReForm-Eval's"
OWN_INSTRUCTIONS = f"instructions: {_BUILT_IN}"
OWN_EXAMPLE = f"one-shot example: {_BUILT_IN}"
OWN_QUESTIONS = f"questions: {_BUILT_IN}; --transform random_instruct:pools=CHECKOUT reads ReForm-Eval's"
"""What is said of records that have our prompt template."""

_MODULES = "build/*/*.py"
_MAX_MODULES = 1000
_KINDS = ("instruction_list", "in_context_history")


class Pool(msgspec.Struct, frozen=True):
    """What one family is told to do.

    Attributes:
        choose: Instructions where options are shown; () where the dataset's file brings its own.
        answer: Instructions where none are.
        example: A finished round: turns with `from` (human, assistant) and `value`; () for none.
    """

    choose: tuple[str, ...] = ()
    answer: tuple[str, ...] = ()
    example: tuple[Mapping[str, str], ...] = ()

    def list_instructions(self, open_ended: bool) -> tuple[str, ...]:
        """Give the instructions for questions with or without options shown."""
        return self.answer if open_ended else self.choose


class _Pools(dict[str, Pool]):
    """Pools by the framework's class, which name themselves where one is wanted that they lack."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __missing__(self, name: str) -> Pool:
        raise UsageError(f"{self.place}: holds no instruction_list of {name}. Give ReForm-Eval's whole checkout.")


@cache
def load_pools() -> dict[str, Pool]:
    """Give the built-in prompts by the framework's class."""
    return _build_pools(json.loads(files("mmconvert.kits.reform_eval").joinpath(OWN).read_text(encoding="utf-8")), OWN)


@cache_for_run
def read_pools(place: Path | None) -> dict[str, Pool]:
    """Read a pools file, or ReForm-Eval's own pools from a checkout; nothing in it is run.

    Args:
        place: The file, see the module for its shape, or the folder that holds `build`; None gives the project's
            own prompt template.

    Returns:
        Pools by the framework's class; one that is not there raises UsageError when it is asked for.

    Raises:
        UsageError: There is no such file or folder.
        Error: It is no such file, or no checkout.
    """
    if place is None:
        return load_pools()
    if place.is_dir():
        return _build_pools(_read_checkout(place), str(place))
    if not place.is_file():
        what = "Give pools=CHECKOUT or pools=FILE, or leave it out for the built-in prompts."
        raise UsageError(f"{place}: no such file or folder. {what}")
    try:
        return _build_pools(parse_json(read_source(place).removeprefix(b"\xef\xbb\xbf").decode()), place.name)
    except UnicodeDecodeError as error:
        raise Error(f"{place}: is not UTF-8 at byte {error.start + 1}. Save it as UTF-8.") from None
    except RowError as error:
        raise Error(f"{place}: {error.message} Repair the file, or leave out pools=FILE.") from None


def _read_checkout(folder: Path) -> list[dict[str, Any]]:
    modules = sorted(folder.glob(_MODULES))
    if len(modules) > _MAX_MODULES:
        raise Error(f"{folder}: holds more than {_MAX_MODULES:,} files {_MODULES}. Give ReForm-Eval's own checkout.")
    try:
        entries = [
            {"classes": [f"{module.relative_to(folder).as_posix()}:{made.name}"], "pools": pools}
            for module in modules
            for made in parse_python(module).body
            if isinstance(made, ast.ClassDef) and (pools := list(_list_pools(made.body, "")))
        ]
    except RecursionError:
        raise Error(f"{folder}: {_MODULES} are nested too deeply. Give ReForm-Eval's own checkout.") from None
    if not entries:
        raise Error(f"{folder}: no class in {_MODULES} assigns instruction_list. Give the folder that holds build.")
    return entries


def _list_pools(body: Iterable[ast.stmt], condition: str) -> Iterator[tuple[str, str, Any]]:
    """List what is assigned to the attributes of a class, with the conditions that it is assigned under."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            yield from _list_pools(statement.body, condition)
        elif isinstance(statement, ast.If):
            under = f"{condition} and " if condition else ""
            yield from _list_pools(statement.body, under + ast.unparse(statement.test))
            yield from _list_pools(statement.orelse, condition)
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
            if isinstance(target, ast.Attribute) and target.attr in _KINDS:
                yield target.attr, condition, _read_value(statement.value)


def _read_value(value: ast.expr) -> Any:
    """Read a list of texts; where the class takes it from elsewhere, give the expression as text."""
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError):
        return ast.unparse(value)


def _build_pools(entries: Any, name: str) -> dict[str, Pool]:
    found = _Pools(name)
    for number, entry in enumerate(entries if isinstance(entries, list) else [entries]):
        try:
            sides: dict[str, tuple[str, ...]] = {}
            example: tuple[Mapping[str, str], ...] = ()
            for kind, condition, value in entry["pools"]:
                # A text in the place of a list names the member of the dataset's file that holds the instructions.
                if kind == "instruction_list" and isinstance(value, list):
                    side = "answer" if "likelihood" in condition else "choose"
                    for place in [side] if condition else ["choose", "answer"]:
                        sides.setdefault(place, tuple(map(str, value)))
                elif kind == "in_context_history" and not example:
                    example = tuple({"from": str(turn["from"]), "value": str(turn["value"])} for turn in value)
            pool = Pool(sides.get("choose", ()), sides.get("answer", ()), example)
            found |= dict.fromkeys(entry["classes"], pool)
        except (KeyError, TypeError, ValueError):
            what = "expected an object with 'classes' and 'pools', each pool [name, condition, value]"
            raise Error(f"{name} element {number}: {what} {show(entry)}.") from None
    return found
