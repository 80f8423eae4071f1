"""Processes that die at a chosen moment: run as a script, it converts in forked children that kill themselves."""

import importlib
import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow

from mmconvert.cli import program

STEPS = ("mkdir", "rename", "replace", "link", "unlink", "rmdir", "fsync", "open")
"""Calls of `os` by which the file system changes or is made to keep a change; `open` only for folders to sync."""


def die_before(number: int, log: list[str]) -> None:
    """Kill this process before its n-th step; every step is logged."""
    counter = itertools.count()

    def watched(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            log.append(f"{name} {arguments[0]}")
            if next(counter) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            # What is killed keeps its written pages: waiting for the disk would only make the test slow.
            return None if name == "fsync" else original(*arguments, **options)

        return call

    for name in STEPS:
        setattr(os, name, watched(name, getattr(os, name)))


def convert_in_child(folder: Path, options: list[str], number: int) -> tuple[int, list[str]]:
    """Run `mmconvert convert` in a fork that dies before its n-th step; give its wait status and its steps."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.chdir(folder)
        log: list[str] = []
        die_before(number, log)
        code = program.main(["convert", "new.tsv", "-o", "out", *options], standalone_mode=False)
        os.write(writer, json.dumps(log).encode())
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    return os.waitpid(pid, 0)[1], json.loads(text) if text else []


def main(scene: Path, target: Path, *options: str) -> None:
    """Copy the scene once for every step of a conversion in it and let a child die there."""
    # Imported before the forks (pandas by the first array), so that each does its work and nothing else.
    for module in ("cli.convert", "pipeline.engines.local", "formats.predictions"):
        importlib.import_module(f"mmconvert.{module}")
    pyarrow.array([""])
    shutil.copytree(scene, target / "whole")
    status, steps = convert_in_child(target / "whole", list(options), -1)
    for number in range(len(steps)):
        shutil.copytree(scene, target / str(number))
        status, _ = convert_in_child(target / str(number), list(options), number)
        if not os.WIFSIGNALED(status):
            raise SystemExit(f"step {number} was not reached a second time: {steps}")
    sys.stdout.write(json.dumps(steps))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
