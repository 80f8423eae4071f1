"""Golden cases counted by what they prove: a recipe, or another command, name of a compatibility layer, or template."""

from collections import defaultdict

import msgspec

from goldens.files import FILES, WRITERS, find_recipe_name, score_files
from goldens.rules import COMMANDS
from goldens.run import list_families, read_family, run_cases


class Agreement(msgspec.Struct):
    """Golden cases of a recipe or a command.

    Attributes:
        cases: Inputs of a function of the framework.
        agree: How many of them give what the framework gave.
        files: Whole result files, scored as a user scores them.
        files_agree: How many of them give the framework's final numbers.
    """

    cases: int = 0
    agree: int = 0
    files: int = 0
    files_agree: int = 0


def find_proven(command: str) -> str:
    """Name what a command's golden cases prove: its recipe where it names one, else the command itself."""
    words = command.split()
    return words[words.index("--recipe") + 1].partition("@")[0] if "--recipe" in words else command


def count_agreement() -> dict[str, Agreement]:
    """Run every case of the repository: through its rule, and as a whole file where it is or can be written as one."""
    counts: defaultdict[str, Agreement] = defaultdict(Agreement)
    for family in list_families():
        for place, case in read_family(family):
            if not family.startswith(FILES):
                counted = counts[find_proven(COMMANDS[family, case["rule"]])]
                counted.cases += 1
                counted.agree += run_cases(family, [(place, case)]).passed
            if (family, case["rule"]) in WRITERS:
                counted = counts[find_recipe_name(family, case)]
                for outcome in score_files(family, case):
                    counted.files += 1
                    counted.files_agree += not outcome.problem
    return dict(sorted(counts.items()))
