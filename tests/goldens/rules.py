"""The rule table: (family, rule) -> the command that it serves, and the command's function in the golden encoding.

Each file in `kits/` adds its part as `RULES`, each rule with the command that it serves (see `goldens.commands`). A
wrapper takes the case's `input`, calls what the command calls and encodes the result as the family's description
says; it decides nothing itself. For lines that carry `expected_v2` the rule `<rule>@v2` is asked for that value.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from mmconvert.core.errors import Error

KITS = Path(__file__).parent / "kits"


@dataclass(frozen=True)
class Whole:
    """A rule that takes the whole line: a part of `expected` is an input (a reply the original drew)."""

    run: Callable[[dict], object]


def per_version(run: Callable[[str], object], versions: Iterable[str]) -> dict[str, object]:
    """Run a rule once a version; a refusal becomes `{"error": name}` of that version alone."""
    return {version: refusal_or(lambda version=version: run(version)) for version in versions}


def refusal_or(run: Callable[[], object]) -> object:
    """Run a rule; a refusal becomes `{"error": name}`."""
    try:
        return run()
    except Error as error:
        return {"error": type(error).__name__}


def _collect() -> dict[tuple[str, str], tuple[str, Callable | Whole]]:
    table = {}
    for found in pkgutil.iter_modules([str(KITS)]):
        part = importlib.import_module(f"goldens.kits.{found.name}").RULES
        if doubled := table.keys() & part.keys():
            raise ValueError(f"rules in two tables: {sorted(doubled)}")
        if unnamed := [name for name, rule in part.items() if not isinstance(rule, tuple)]:
            raise ValueError(f"rules that name no command: {sorted(unnamed)}")
        table |= part
    return table


_TABLE = _collect()
RULES = {name: run for name, (_, run) in _TABLE.items()}
COMMANDS = {name: command for name, (command, _) in _TABLE.items()}
"""The command whose number or text a rule proves."""
