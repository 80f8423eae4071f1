"""Small forms of the figures of `scripts/bench publish`, which takes minutes."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

MEGABYTE = 1 << 20
WITH_PEAK = """
import re
from pathlib import Path
from mmconvert.cli import main
try:
    main()
finally:
    print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.fixture
def bench(repository: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(repository / "scripts"))
    import bench_publish

    return bench_publish


def peak(command: list[str]) -> int:
    """Run `python -m mmconvert ...` and give its peak memory in bytes."""
    ended = subprocess.run([sys.executable, "-c", WITH_PEAK, *command[3:]], capture_output=True, text=True, check=True)
    return int(ended.stdout.splitlines()[-1]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.slow
@pytest.mark.release
def test_the_memory_of_a_push_does_not_grow_with_the_dataset(bench):
    [small], [large] = (bench.push(peak, size * MEGABYTE, side=300, times=1) for size in (96, 224))
    assert large < small + 60 * MEGABYTE
    assert large < 400 * MEGABYTE


def test_a_manifest_of_100_000_shards_has_less_than_50_megabytes(bench):
    planned = bench.many_parts(shards=3_000, files=30)
    assert planned.parts == 3_000
    assert planned.manifest * 100_000 / 3_000 < 50e6


def test_single_changed_bits_are_found(bench):
    assert bench.flips(20) == 20
