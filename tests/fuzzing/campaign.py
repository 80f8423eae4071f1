"""Send batches of inputs to sandboxes, survive their deaths, and gather what they found."""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzzing.seeds import seeds

TESTS = Path(__file__).resolve().parents[1]
BATCH = 1000
"""Inputs of one process; a fresh one keeps a slow leak from adding up to a limit."""
_MEMORY = Path("/dev/shm")
"""A file system in memory, where there is one: every output is synced to the disk twice otherwise."""
MAX_DEATHS = 20


@dataclass(frozen=True)
class Fault:
    """A promise that was broken by an input: its number or its file, the kind of fault, and what was said."""

    which: int | str
    kind: str
    detail: str


@dataclass
class Findings:
    """What a campaign saw of one target."""

    target: str
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    peak: int = 0
    """Most memory that a process held, in kB."""
    seconds: float = 0.0
    """Of the input that took longest."""

    @property
    def distinct(self) -> list[Fault]:
        """The first fault of each kind."""
        return list({fault.kind: fault for fault in reversed(self.faults)}.values())[::-1]

    def add(self, other: "Findings") -> None:
        """Take in what another process saw of the target."""
        self.outcomes += other.outcomes
        self.faults += other.faults
        self.peak, self.seconds = max(self.peak, other.peak), max(self.seconds, other.seconds)


def fuzz(target: str, count: int, seed: int, shared: Path | None, start: int = 0, jobs: int = 1) -> Findings:
    """Try inputs `start` to `start + count` of a target.

    Args:
        target: A format, or "images".
        count: How many inputs.
        seed: The same seed gives the same inputs, whatever the count.
        shared: Folder with the hostile inputs; None to start from the project's own examples only.
        start: Number of the first input.
        jobs: Processes at the same time.
    """
    findings = Findings(target)
    with _open_scratch() as scratch:
        job = job_of(target, seed, shared, Path(scratch))
        if not job["seeds"]:
            findings.faults.append(Fault(0, "no seeds", f"{target} has no example file"))
            return findings
        batches = [
            {**job, "start": first, "count": min(BATCH, start + count - first)}
            for first in range(start, start + count, BATCH)
        ]
        with ThreadPoolExecutor(jobs) as pool:
            for found in pool.map(_run, batches):
                findings.add(found)
    return findings


def replay(target: str, files: Sequence[Path]) -> Findings:
    """Try stored inputs as they are."""
    with _open_scratch() as scratch:
        return _run({"target": target, "files": [str(file) for file in files], "scratch": scratch})


def keep(target: str, index: int, seed: int, shared: Path | None, folder: Path) -> str | None:
    """Make an input of a campaign small and store it; give the kind of fault that it shows."""
    with _open_scratch() as scratch:
        job = {**job_of(target, seed, shared, Path(scratch)), "index": index, "keep": str(folder)}
        found = [message["kept"] for message in _messages(_start(job)) if "kept" in message]
        return found[0] if found else None


def _open_scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz-", dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None)


def job_of(target: str, seed: int, shared: Path | None, scratch: Path) -> dict[str, Any]:
    """Describe a target and its seeds for a sandbox."""
    found = seeds(target, scratch, shared)
    described = [
        {"path": str(s.path), "root": str(s.root), "image_root": str(s.image_root) if s.image_root else None}
        for s in found
    ]
    return {"target": target, "seed": seed, "seeds": described, "scratch": str(scratch)}


def _run(job: dict[str, Any]) -> Findings:
    """Run a job to its end; a process that died is followed by one that begins behind its last input."""
    findings = Findings(job["target"])
    for _ in range(MAX_DEATHS):
        last: int | str | None = None
        ended = True
        process = _start(job)
        for message in _messages(process):
            if "begins" in message:
                last, ended = message["begins"], False
                continue
            ended = True
            findings.peak = max(findings.peak, message["peak"])
            findings.seconds = max(findings.seconds, message["seconds"])
            if "fault" in message:
                findings.faults.append(Fault(message["ends"], message["fault"], message["detail"]))
            else:
                findings.outcomes[message["outcome"]] += 1
        said = process.stderr.read() if process.stderr else ""
        code = process.wait()
        if code == 0 and ended:
            return findings
        if last is None:
            raise RuntimeError(f"the sandbox does not start: {said[-2000:]}")
        findings.faults.append(Fault(last, f"died with {code}: {_innermost(said)}", said[-2000:]))
        if "files" in job:
            job = {**job, "files": job["files"][job["files"].index(last) + 1 :]}
        else:
            job = {**job, "start": int(last) + 1, "count": job["start"] + job["count"] - int(last) - 1}
        if not job.get("files", job.get("count")):
            return findings
    findings.faults.append(Fault(0, "deaths", f"gave up after {MAX_DEATHS} dead processes"))
    return findings


def _start(job: dict[str, Any]) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LMUData": job["scratch"],
        "TMPDIR": job["scratch"],
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "fuzzing.sandbox"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    if process.stdin is not None:
        process.stdin.write(json.dumps(job))
        process.stdin.close()
    return process


def _messages(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    for line in process.stdout or ():
        yield json.loads(line)


def _innermost(said: str) -> str:
    frames = [line.strip() for line in said.splitlines() if "/src/mmconvert/" in line]
    return frames[0][-80:] if frames else said.strip().splitlines()[-1][:80] if said.strip() else "no word"
