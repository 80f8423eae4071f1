"""Rules of docs/architecture.md that are read off the source; those of imports are contracts in pyproject.toml."""

import ast
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mmconvert.plugins.registry import GROUPS
from support.sources import PATHS, name_module, parse_source, walk_source

pytestmark = pytest.mark.static

MODULES = {name_module(path): path for path in PATHS}
PLUGINS = [name for name in MODULES if name.rpartition(".")[0] in GROUPS]

FORBIDDEN_CALLS = {"eval", "exec", "print", "compile", "__import__", "globals"}
FORBIDDEN_MODULES = {"pickle", "dill", "shelve", "marshal", "cloudpickle"}
FORBIDDEN_ATTRIBUTES = {("yaml", "load"), ("torch", "load"), ("os", "system"), ("pd", "eval")}
LONGEST_FILE = 600
"""Lines of a file; what a function may hold is ruff's (C901, PLR0915)."""


def nodes(module: str) -> list[ast.AST]:
    return walk_source(MODULES[module])


def imports(name: str) -> Iterator[str]:
    for node in nodes(name):
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
        for node in parse_source(MODULES[name]).body
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


@pytest.mark.slow
def test_no_comparison_with_a_plugins_name_outside_its_file() -> None:
    for module in MODULES:
        names = {plugin.rpartition(".")[2] for plugin in PLUGINS} - {module.rpartition(".")[2]}
        for node in nodes(module):
            if isinstance(node, ast.Compare):
                texts = [c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)]
                assert not names & set(texts), f"{module}:{node.lineno} compares with {names & set(texts)}"


def test_no_dangerous_or_dishonest_call() -> None:
    for module in MODULES:
        assert not {name.partition(".")[0] for name in imports(module)} & FORBIDDEN_MODULES, module
        for node in nodes(module):
            assert not isinstance(node, ast.Assert), f"{module}:{node.lineno}: assert is not a check of user input"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN_CALLS, f"{module}:{node.lineno}: {node.func.id}()"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) not in FORBIDDEN_ATTRIBUTES, f"{module}:{node.lineno}"
                if node.value.id == "random":
                    allowed = ("Random", "SystemRandom")
                    assert node.attr in allowed, f"{module}:{node.lineno}: the global random state"


def test_files_stay_small() -> None:
    lines = {module: len(path.read_text(encoding="utf-8").splitlines()) for module, path in MODULES.items()}
    assert not {module: count for module, count in lines.items() if count > LONGEST_FILE}


def test_names_say_what_a_module_is() -> None:
    for module in MODULES:
        assert module.rpartition(".")[2] not in ("utils", "util", "helpers", "helper", "common", "misc", "base")
        for node in nodes(module):
            if isinstance(node, ast.ClassDef):
                # A door has the names of its kit.
                assert not node.name.startswith("Base") or within(module, "mmscore.compat"), node.name
                assert not node.name.endswith(("Manager", "Helper")), node.name


def test_no_module_takes_the_place_of_a_name_of_its_package() -> None:
    """Python binds a module to its package when it is first imported, over a function of the same name."""
    for package in (path for path in PATHS if path.name == "__init__.py"):
        modules = {path.stem for path in package.parent.iterdir()}
        for node in parse_source(package).body:
            source = (node.module or "").rpartition(".")[2] if isinstance(node, ast.ImportFrom) else ""
            if source == package.parent.name:
                continue  # The module itself is meant.
            names = node.names if isinstance(node, ast.ImportFrom) else [node]
            bound = {getattr(name, "asname", None) or getattr(name, "name", "") for name in names}
            # A name that the module of this name gives is bound after the module, and stays.
            assert not bound & modules - {source}, package


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


@pytest.mark.parametrize("line", ["import {}.cli", "from {} import cli"])
@pytest.mark.parametrize("package", ["mmconvert", "mmscore"])
def test_help_imports_nothing_heavy(package: str, line: str) -> None:
    code = f"import sys; {line.format(package)}; print(*sorted(set(sys.modules) & set({HEAVY!r})))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []


@pytest.mark.parametrize("package", ["mmconvert", "mmscore"])
@pytest.mark.slow
def test_the_api_is_there_on_systems_that_are_not_like_linux(package: str) -> None:
    # Windows has neither, macOS lacks the second.
    code = f"import os, sys; sys.modules['fcntl'] = None; del os.sched_getaffinity; import {package}.api, {package}.cli"
    subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
