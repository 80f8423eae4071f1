"""Rules of docs/architecture.md that are read off the source; those of imports are contracts in pyproject.toml."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmconvert.plugins.registry import GROUPS

SRC = Path(__file__).resolve().parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SRC.rglob("*.py"))
}
TREES = {name: ast.parse(path.read_bytes()) for name, path in MODULES.items()}
PLUGINS = [name for name in MODULES if name.rpartition(".")[0] in GROUPS]

FORBIDDEN_CALLS = {"eval", "exec", "print", "compile", "__import__", "globals"}
FORBIDDEN_MODULES = {"pickle", "dill", "shelve", "marshal", "cloudpickle"}
FORBIDDEN_ATTRIBUTES = {("yaml", "load"), ("torch", "load"), ("os", "system"), ("pd", "eval")}
LONGEST_FILE = 600
"""Lines of a file; what a function may hold is ruff's (C901, PLR0915)."""


def imports(name: str) -> Iterator[str]:
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            base = node.module or ""
            # A package has the public names of its own `api`, and of nothing else, without a second list of them.
            assert all(alias.name != "*" for alias in node.names) or base == f"{name}.api", f"{name}: star import"
            for alias in node.names:
                yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base


def within(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


@pytest.mark.parametrize("name", PLUGINS)
def test_plugins_export_their_constant(name: str) -> None:
    group = name.rpartition(".")[0]
    assigned = {
        target.id
        for node in TREES[name].body
        for target in (
            [*node.targets]
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        if isinstance(target, ast.Name)
    }
    assert GROUPS[group] in assigned


@pytest.mark.parametrize("name", MODULES)
def test_no_comparison_with_a_plugins_name_outside_its_file(name: str) -> None:
    names = {plugin.rpartition(".")[2] for plugin in PLUGINS} - {name.rpartition(".")[2]}
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Compare):
            texts = [c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)]
            assert not names & set(texts), f"{name}:{node.lineno} compares with {names & set(texts)}"


@pytest.mark.parametrize("name", MODULES)
def test_no_dangerous_or_dishonest_call(name: str) -> None:
    assert not {module.partition(".")[0] for module in imports(name)} & FORBIDDEN_MODULES
    for node in ast.walk(TREES[name]):
        assert not isinstance(node, ast.Assert), f"{name}:{node.lineno}: assert is no check of user input"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS, f"{name}:{node.lineno}: {node.func.id}()"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in FORBIDDEN_ATTRIBUTES, f"{name}:{node.lineno}"
            if node.value.id == "random":
                assert node.attr in ("Random", "SystemRandom"), f"{name}:{node.lineno}: the global random state"


@pytest.mark.parametrize("name", MODULES)
def test_files_stay_small(name: str) -> None:
    assert len(MODULES[name].read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


@pytest.mark.parametrize("name", MODULES)
def test_names_say_what_a_module_is(name: str) -> None:
    assert name.rpartition(".")[2] not in ("utils", "util", "helpers", "helper", "common", "misc", "base")
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ClassDef):
            # A door has the names of its kit.
            assert not node.name.startswith("Base") or within(name, "mmscore.compat"), node.name
            assert not node.name.endswith(("Manager", "Helper")), node.name


HEAVY = (
    "torch",
    "transformers",
    "datasets",
    "pandas",
    "pyarrow",
    "nltk",
    "jieba",
    "scipy",
    "openpyxl",
    "openai",
    "plotly",
    "ray",
    "rich",
)


@pytest.mark.parametrize("package", ["mmconvert", "mmscore"])
def test_help_imports_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}.cli; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []


@pytest.mark.parametrize("package", ["mmconvert", "mmscore"])
def test_the_api_is_there_on_systems_that_are_not_like_linux(package: str) -> None:
    # Windows has neither, macOS lacks the second.
    code = f"import os, sys; sys.modules['fcntl'] = None; del os.sched_getaffinity; import {package}.api, {package}.cli"
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
