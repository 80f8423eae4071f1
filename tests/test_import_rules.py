"""Imports point one way: the contracts of pyproject.toml hold, and notice what breaks them."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.static

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("mmconvert", "mmscore")
FLAT = {"__init__", "__main__", "_version", "api"}
MOST_ROOMS = 19


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


def test_imports_keep_the_contracts() -> None:
    ended = lint_imports(ROOT)
    assert ended.returncode == 0, ended.stdout


BREAKING = (
    ("mmconvert/core/record.py", "import mmconvert.io.tables", "mmconvert.core is not allowed to import"),
    ("mmconvert/storage/atomic.py", "def f():\n    from mmscore import llm", "mmconvert knows nothing of mmscore"),
    ("mmscore/infer/runner.py", "import mmscore.scoring.score", "inference never scores"),
    ("mmconvert/formats/vmcq.py", "import mmconvert.formats.trl", "mmconvert.formats: siblings"),
    ("mmconvert/api.py", "import click", "click stays at the terminal"),
)
ALLOWED = ("mmscore/nlp/edit_distance.py", "import mmscore.nlp.meteor")


def test_forbidden_imports_are_noticed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "files", "vendor"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module, line in (ALLOWED, *((module, line) for module, line, _ in BREAKING)):
        with (tmp_path / "src" / module).open("a") as file:
            file.write(f"\n{line}\n")
    ended = lint_imports(tmp_path)
    assert ended.returncode != 0
    assert [broken for _, _, broken in BREAKING if broken not in ended.stdout] == []
    assert "mmscore.nlp" not in ended.stdout


def list_lazy_imports(node: ast.AST, in_function: bool = False) -> Iterator[tuple[int, str]]:
    """List the modules that functions import, with their lines."""
    for child in ast.iter_child_nodes(node):
        if in_function and isinstance(child, ast.Import):
            yield from ((child.lineno, alias.name) for alias in child.names)
        elif in_function and isinstance(child, ast.ImportFrom):
            yield child.lineno, child.module or ""
        elif not isinstance(child, ast.expr):
            yield from list_lazy_imports(
                child, in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            )


def test_our_own_modules_are_imported_at_the_top() -> None:
    """A lazy import hides a circle; only heavy libraries are imported where they are needed."""
    inside = [
        f"{path}:{line} {name}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for line, name in list_lazy_imports(ast.parse(path.read_bytes()))
        if name.split(".")[0] in PACKAGES
    ]
    assert inside == []
    assert [*list_lazy_imports(ast.parse("import a\ndef f():\n  if x:\n    from b import c"))] == [(4, "b")]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_holds_rooms_and_nothing_flat(package: str) -> None:
    entries = [path for path in (ROOT / "src" / package).iterdir() if path.name != "__pycache__"]
    assert {path.stem for path in entries if path.is_file()} - {"py"} <= FLAT
    assert len([path for path in entries if path.is_dir()]) <= MOST_ROOMS
    assert all((path / "__init__.py").is_file() for path in entries if path.is_dir())
