"""Instructions and one-shot examples for ReForm-Eval's families: the project's own wording, or a file's.

A file is a JSON list of `{"classes": [...], "pools": [[name, condition, value], ...]}`: `classes` names the
kit's dataset classes that share the pools, `instruction_list` is a list of sentences for one condition,
`in_context_history` a finished round of a dialog. A condition that speaks of likelihood holds where no
options are shown, any other where they are, an empty one always. The kit's own wording can be given in
this shape. Source of the class names: FudanDISC/ReForm-Eval@df1cfa7 build.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from mmconvert.core.errors import Error, RowError, UsageError, show
from mmconvert.core.run_cache import cache_for_run
from mmconvert.core.text.json import parse_json

OWN = "reform_eval_pools.json"


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


@cache
def load_pools() -> dict[str, Pool]:
    """Give the project's own wording by the kit's class."""
    return _build_pools(json.loads(files("mmconvert.kits.reform_eval").joinpath(OWN).read_text(encoding="utf-8")), OWN)


@cache_for_run
def read_pools(path: Path | None) -> dict[str, Pool]:
    """Read a pools file; see the module for its shape.

    Args:
        path: The file; None gives the project's own wording.

    Returns:
        Pools by the kit's class.

    Raises:
        UsageError: There is no such file.
        Error: It is no such file.
    """
    if path is None:
        return load_pools()
    if not path.is_file():
        raise UsageError(f"{path}: no such file. Give pools=FILE, or leave it out for the project's own wording.")
    try:
        return _build_pools(parse_json(path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode()), path.name)
    except UnicodeDecodeError as error:
        raise Error(f"{path}: is not UTF-8 at byte {error.start + 1}. Save it as UTF-8.") from None
    except RowError as error:
        raise Error(f"{path}: {error.message} Repair the file, or leave out pools=FILE.") from None


def _build_pools(entries: Any, name: str) -> dict[str, Pool]:
    found: dict[str, Pool] = {}
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
