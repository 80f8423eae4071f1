"""A lazy module is loaded by what is first asked of it."""

import subprocess
import sys

import pytest

from mmconvert.core.lazy import LazyModule

LOADED = """
import sys
from mmconvert.core.lazy import LazyModule
lazy = LazyModule("wave")
before = "wave" in sys.modules
lazy.Error
print(before, "wave" in sys.modules, lazy.Error is sys.modules["wave"].Error)
"""
SLOW = {"asyncio", "yaml", "pyarrow.compute", "pandas"}


def run(program: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_it_is_loaded_by_what_is_first_asked_of_it():
    assert run(LOADED) == "False True True"


def test_what_the_module_lacks_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        LazyModule("math").nothing  # noqa: B018


@pytest.mark.parametrize("module", ["mmconvert.pipeline.convert_files", "mmconvert.pipeline.export"])
def test_convert_and_export_start_without_what_takes_long_to_load(module):
    loaded = run(f"import sys, {module}; print(*sys.modules)").split()
    assert module in loaded
    assert SLOW.isdisjoint(loaded)


def test_scores_start_without_a_client():
    assert {"asyncio", "yaml", "pandas"}.isdisjoint(run("import sys, mmscore.cli.score; print(*sys.modules)").split())
