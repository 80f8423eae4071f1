"""Imports point one way: the contracts of pyproject.toml hold, and notice what breaks them."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("mmconvert", "mmscore")
FLAT = {"__init__", "__main__", "_version", "api"}
MOST_ROOMS = 18


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


def test_imports_keep_the_contracts() -> None:
    ended = lint_imports(ROOT)
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("mmconvert/core/record.py", "import mmconvert.io.tables", "mmconvert.core is not allowed to import"),
        ("mmconvert/storage/atomic.py", "def f():\n    from mmscore import llm", "mmconvert knows nothing of mmscore"),
        ("mmscore/infer/runner.py", "import mmscore.scoring.score", "inference never scores"),
        ("mmconvert/formats/vmcq.py", "import mmconvert.formats.trl", "mmconvert.formats: siblings"),
        ("mmconvert/api.py", "import click", "click stays at the terminal"),
        ("mmscore/nlp/lcs.py", "import mmscore.nlp.meteor\n", None),
    ],
)
def test_a_forbidden_import_is_noticed(module: str, line: str, broken: str | None, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "files", "vendor"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "src" / module).open("a") as file:
        file.write(f"\n{line}\n")
    ended = lint_imports(tmp_path)
    assert (ended.returncode == 0) is (broken is None), ended.stdout
    assert broken is None or broken in ended.stdout


def test_our_own_modules_are_imported_at_the_top() -> None:
    """A lazy import hides a circle; only heavy libraries are imported where they are needed."""
    inside = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                    inside += [f"{path}:{node.lineno} {name}" for name in names if name.split(".")[0] in PACKAGES]
    assert inside == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_holds_rooms_and_nothing_flat(package: str) -> None:
    entries = [path for path in (ROOT / "src" / package).iterdir() if path.name != "__pycache__"]
    assert {path.stem for path in entries if path.is_file()} - {"py"} <= FLAT
    assert len([path for path in entries if path.is_dir()]) <= MOST_ROOMS
    assert all((path / "__init__.py").is_file() for path in entries if path.is_dir())
