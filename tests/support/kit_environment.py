"""An environment of its own for a kit, so that the kit itself can be asked."""

import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

_MINUTES = 10


def kit_python(folder: Path, packages: Sequence[str], alone: Sequence[str] = ()) -> Path:
    """Install packages from PyPI into a new environment; the test is skipped where PyPI is out of reach.

    Args:
        folder: Where to; it is made.
        packages: Requirements, installed with all that they need.
        alone: Requirements that are installed without what they need.

    Returns:
        The environment's Python.
    """
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    for options in ([*packages], ["--no-deps", *alone]):
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * _MINUTES, check=False)
        if done.returncode:
            reason = (done.stderr.strip() or "no reason given").splitlines()[-1]
            pytest.skip(f"PyPI does not give {', '.join(options)}: {reason}")
    return python
