"""The distributions, built from the checkout, and an environment that holds it and none of the checkout."""

import os
import site
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build_wheel(folder: Path) -> Path:
    """Build the wheel with what development has installed."""
    return _build("--wheel", folder)


def build_sdist(folder: Path) -> Path:
    """Build the source distribution with what development has installed."""
    return _build("--sdist", folder)


def _build(kind: str, folder: Path) -> Path:
    _run(sys.executable, "-m", "build", kind, "--no-isolation", "--outdir", folder, ROOT)
    [built] = folder.iterdir()
    return built


def install_wheel(wheel: Path, folder: Path) -> dict[str, str]:
    """Install a wheel in a new environment, beside the libraries that this process has.

    Returns:
        Variables of a terminal whose programs are those of that environment.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    [packages] = folder.glob("lib/*/site-packages")
    # A path in such a file is searched last, and what is linked from there, as the checkout is, is not followed.
    libraries = [path for path in site.getsitepackages() if Path(path).is_dir()]
    (packages / "libraries.pth").write_text("\n".join(libraries) + "\n")
    return {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(folder)}


def install_package(source: Path, folder: Path) -> dict[str, str]:
    """Build a package of ours and put it into a folder, with what development has installed and no network.

    Returns:
        Variables of a process that finds it there, beside this checkout.
    """
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", folder)
    _run(sys.executable, "-m", "pip", "install", *options, source)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "src")])}


def _run(*command: object) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
