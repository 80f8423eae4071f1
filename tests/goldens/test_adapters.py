"""Golden adapters encode: a case into what a command takes, its result as the family has it. They decide nothing."""

import ast
from collections.abc import Iterator

from goldens.rules import KITS

ORDERING = {"sorted", "sort", "reversed", "groupby", "max", "min"}
COUNTING = {"sum", "fsum", "round", "mean", "median", "isnan", "isinf", "isna", "notna", "isfinite"}
READING = {"reader", "DictReader", "read_csv", "read_excel", "literal_eval", "eval"}
MODULES = {"re", "csv", "math", "statistics", "collections", "itertools", "ast", "openpyxl"}
STATEMENTS = {ast.For: "for", ast.While: "while", ast.Try: "try", ast.Raise: "raise"}

ENCODING = {
    ("evalscope_data", "_write", "for"): "writes the files of a case",
    ("evalscope_report", "_one", "sorted"): "the product holds the dimensions of an identity by name",
    ("mmbench", "_loaded", "try"): "a sequence of samples refuses with Python's IndexError",
    ("mmbench", "_loaded", "raise"): "as above",
    ("mmmu_parsers", "_outputs", "for"): "writes the files of a case",
    ("mmmu_parsers", "", "sorted"): "the original's order is undefined, and the cases hold it sorted",
    ("mmtrusteval", "_rank", "raise"): "the command ends with 3, the script with an error",
    ("mmtrusteval", "_rank", "round"): "the script prints two digits",
    (
        "vlmevalkit_judge",
        "_llavabench_table",
        "sorted",
    ): "the framework walks a set of categories, and the cases hold them sorted",
    ("vlmevalkit_prompts", "_prompt", "sorted"): "the cases list written files by path",
    (
        "vlmevalkit_tables",
        "run",
        "read_csv",
    ): "the framework writes its workbook out of what pandas reads",
    ("vlmevalkit_tables", "run", "x == x"): "a row without a score is in no list of hits",
}
"""What looks like a decision and is an encoding: file, function, construct -> why."""


def find_decisions(text: str) -> Iterator[tuple[str, str]]:
    """Give function and name of each construct by which an adapter could decide something."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            yield from ((function, word) for word in _name_decisions(child))
            yield from walk(child, child.name if isinstance(child, ast.FunctionDef) else function)

    return walk(ast.parse(text), "")


def _name_decisions(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        return [f"import {module}" for module in modules if module.partition(".")[0] in MODULES]
    if isinstance(node, ast.Call):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        return [name] if name in ORDERING | COUNTING | READING else []
    if isinstance(node, ast.Compare):
        return ["x == x"] if ast.dump(node.left) == ast.dump(node.comparators[0]) else []
    return [word for kind, word in STATEMENTS.items() if isinstance(node, kind)]


def test_adapters_neither_read_nor_order_nor_count_nor_refuse_by_themselves() -> None:
    found = {
        (path.stem, function, word)
        for path in KITS.glob("*.py")
        for function, word in find_decisions(path.read_text(encoding="utf-8"))
    }
    assert found - ENCODING.keys() == set(), "let the product's function, which a command calls, decide this"
    assert ENCODING.keys() - found == set(), "these are there no more: take them off the list"


def test_a_decision_is_named_with_its_function() -> None:
    text = """
import math
def _mean(rows):
    kept = [row for row in rows if row == row]
    for row in kept:
        if math.isnan(row):
            raise ValueError
    return sum(kept) / len(kept)
RULES = {"a": lambda rows: sorted(rows)}
"""
    assert {*find_decisions(text)} == {
        ("", "import math"), ("_mean", "x == x"), ("_mean", "for"), ("_mean", "isnan"), ("_mean", "raise"),
        ("_mean", "sum"), ("", "sorted"),
    }  # fmt: skip
