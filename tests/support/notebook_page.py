"""docs/tutorial.ipynb: its cells are run as a kernel runs them, and it stores what they show.

A cell of code is Python, whose last expression is shown as HTML where it knows how and as text; or lines that begin
with `!`, which a shell runs.
"""

import ast
import contextlib
import io
import json
import linecache
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from support.documents import terminal

PAGE = Path(__file__).resolve().parents[2] / "docs/tutorial.ipynb"

_THUMBNAIL = re.compile(r"data:image/[^\"]+")
_DIGEST = re.compile(r"\b[0-9a-f]{12}\b")


def page(current: str) -> str:
    """Run the notebook in an empty folder and write it with what its cells show.

    Args:
        current: The notebook as it is; its cells stay, their outputs do not.
    """
    notebook = json.loads(current)
    with tempfile.TemporaryDirectory() as folder:
        run(notebook, Path(folder, "notebook"))
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def run(notebook: dict[str, Any], folder: Path) -> None:
    """Run the cells of a notebook one after the other in a new folder, and store what each shows."""
    folder.mkdir()
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with contextlib.chdir(folder):
        for number, cell in enumerate(cells, 1):
            source = "".join(cell["source"])
            cell["execution_count"] = number
            cell["outputs"] = _run_shell(source) if source.startswith("!") else _run_python(source, names, number)


def hide_bytes(text: str) -> str:
    """Leave out what hangs on the version of a library: encoded thumbnails, and digests."""
    return _DIGEST.sub("DIGEST", _THUMBNAIL.sub("THUMBNAIL", text))


def _run_shell(source: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("!") for line in source.splitlines()]
    command = ["bash", "-e", "-c", "\n".join(lines)]
    done = subprocess.run(command, env=terminal(Path.cwd()), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{source}\n{done.stdout}{done.stderr}"
    return _store_text(done.stdout)


def _run_python(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    file = f"<cell {number}>"
    # So a function of a cell has its source, as in a kernel.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    body = ast.parse(source, file).body
    last = ast.Expression(body.pop().value) if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), file, "exec"), names)
        value = eval(compile(last, file, "eval"), names) if last else None
    shown = _store_text(printed.getvalue())
    if value is None:
        return shown
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    data = {"text/html": html, "text/plain": repr(value)}
    lines = {kind: text.splitlines(keepends=True) for kind, text in data.items() if text is not None}
    return [*shown, {"data": lines, "execution_count": number, "metadata": {}, "output_type": "execute_result"}]


def _store_text(text: str) -> list[dict[str, Any]]:
    return [{"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}] if text else []
