"""What a conversion of many terabytes takes: CPU a gigabyte, processes that share, 10,000 parts to keep track of."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import bench_inputs as inputs

from mmconvert.dataset.shards import Shard
from mmconvert.pipeline import distributed
from mmconvert.pipeline.inputs import Input
from mmconvert.pipeline.parts import FilePart, PartResult
from mmconvert.pipeline.read import ReadOptions

PARTS = 10_000


class Cost(NamedTuple):
    """Seconds and CPU seconds of some processes together, and the bytes that they read and wrote."""

    seconds: float
    cpu: float
    read: int
    written: int

    def __str__(self) -> str:
        """Say it by the gigabyte that is read."""
        size = self.read / 1e9
        return (
            f"{size:.2f} GB in {self.seconds:.1f} s, {self.cpu / size:.1f} CPU seconds a GB, "
            f"{size * 1e3 / self.cpu:.0f} MB a CPU second, {self.written / self.read:.2f} GB written a GB"
        )


def converted(source: Path, format: str, *options: str, processes: int = 1) -> Cost:
    """Convert a file, in so many processes that are started together."""
    with tempfile.TemporaryDirectory(dir=inputs.DATA) as work:
        command = [sys.executable, "-m", "mmconvert", "convert", str(source), "-o", f"{work}/out", "--format", format]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        running = [subprocess.Popen([*command, "--quiet", *options]) for _ in range(processes)]
        if sum(process.wait() != 0 for process in running):
            sys.exit(f"failed: {' '.join(command)}")
        seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        written = sum(file.stat().st_size for file in Path(work).rglob("*.parquet"))
    return Cost(seconds, cpu, source.stat().st_size, written)


def _tiny(part: FilePart) -> list[PartResult]:
    """Stand for the conversion of a part, which takes seconds and is not what is measured."""
    name = f"part-{part.index:05d}-00000-00000.parquet"
    (part.folder / name).touch()
    return [PartResult(part, [Shard(name, 1, 0, "0" * 64)], [str(part.index)])]


def bookkeeping(parts: int = PARTS) -> tuple[float, float]:
    """Claim and hand in so many parts of shared work, and gather them; give the seconds of each."""
    with tempfile.TemporaryDirectory() as work, mock.patch.object(distributed, "convert_part", _tiny):
        final = Path(work, "final")
        final.mkdir()
        share = distributed.join(Path(work, "out"), {"parts": parts})
        planned = [FilePart(number, Input(Path("x")), None, share.data, ReadOptions()) for number in range(parts)]
        started = time.perf_counter()
        with share:
            share.convert_parts(planned, map)  # type: ignore[arg-type]  # one task after the other
            worked = time.perf_counter() - started
            assert len(share.read_results(planned, lambda part: final)) == parts
        return worked, time.perf_counter() - started - worked


def run() -> None:
    """Print what each takes."""
    table = inputs.lmudata(8_000)
    for name, source, format in (
        ("images, TSV", table, "lmudata"),
        ("images, JSONL", inputs.messages_with_images(), "openai_messages"),
        ("text, JSONL", inputs.text_messages(), "openai_messages"),
    ):
        print(f"{name:<16} {converted(source, format, '--workers', '1')}")
    print(f"{'decoded, TSV':<16} {converted(table, 'lmudata', '--workers', '1', '--verify', 'decode')}")
    print(f"{'two that share':<16} {converted(table, 'lmudata', '--workers', '1', '--share', processes=2)}")
    worked, gathered = bookkeeping()
    print(
        f"{PARTS:,} shared parts: {worked / PARTS * 1e3:.1f} ms each to claim and hand in, {gathered:.0f} s to gather"
    )
