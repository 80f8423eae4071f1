"""The bench for GPUs runs from a checkout on a machine with few packages, of which no GPU is asked here."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
ABSENT = ("orjson", "datasets", "jieba", "nltk", "rapidfuzz", "xlsxwriter", "pybase64")
PROGRAM = f"""
import runpy, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
sys.argv = ["bench_gpu", "--tiny", "--rows", "12", "--baseline-rows", "8"]
runpy.run_path("scripts/bench_gpu.py", run_name="__main__")
"""


@pytest.mark.release
def test_it_runs_with_few_packages():
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (
        len(re.findall(r"^(?:one row at a time|batches of 8|mmscore predict) +[\d,]+ tokens/s", done.stdout, re.M)) == 3
    )
