"""Whatever a stranger's file unfolds to: the programs end it in a sentence, under a gibibyte.

A few of the files run always; all of them, in their full size, for a release.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.unfolding import IMAGE_KINDS, MB, WRITERS

pytestmark = pytest.mark.slow

RESIDENT = 1 << 20
"""Most kB that a process may hold."""
SECONDS = 300
"""A machine that is busy with other tests is given time; a program that hangs is not."""
PIXELS = 88_000_000
UNFOLDED = {
    "parquet_text_dictionary": 4800, "parquet_text_many_rows": 4800, "parquet_image_dictionary": 4800,
    "parquet_list_dictionary": 4800, "parquet_kept_dictionary": 4800, "parquet_plain_zeros": 1280,
    "parquet_huge_cell": 600, "parquet_huge_id": 300, "parquet_gzip_zeros": 1600, "parquet_skewed": 1600,
    "parquet_long_list": 500, "xlsx_shared": 1000, "tsv_tabs": 10, "tsv_header_tabs": 10,
}  # fmt: skip
"""MB that a file unfolds to; 200 for all others."""

MAKER = """
import sys; sys.path.insert(0, ".")
from pathlib import Path
from support.unfolding import WRITERS
WRITERS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
"""
LAUNCHER = """
import json, resource, subprocess, sys
ended = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps([ended.returncode, peak, ended.stdout[-2000:] + ended.stderr[-2000:]]))
"""
"""A small process between, because a child begins with what its parent held."""


def check_ending(name: str, size: int, program: tuple[str, ...], folder: Path, more: tuple[str, ...] = ()) -> None:
    """Write the file, run a program on it, and see that it ends well."""
    subprocess.run([sys.executable, "-c", MAKER, name, str(folder), str(size)], check=True, cwd=Path(__file__).parent)
    path = next(path for path in folder.glob("a.*") if path.suffix == ".jsonl" or name.split("_")[0] not in IMAGE_KINDS)
    command = [sys.executable, "-c", LAUNCHER, sys.executable, "-m", *program, str(path)]
    command += ["-o", str(folder / "out"), "--quiet", "--verify", "decode"] if program[-1] == "convert" else []
    command += ["--recipe", "own_short_answer"] if program[-1] == "score" else []
    ended = subprocess.run([*command, *more], capture_output=True, text=True, timeout=SECONDS, check=True)
    code, resident, said = json.loads(ended.stdout)
    assert code in (0, 1, 3), said
    assert "Traceback" not in said
    assert code == 0 or path.name in said
    assert resident < RESIDENT, f"{resident:,} kB, {said}"


@pytest.mark.parametrize(
    ("name", "size"),
    [("tsv_cell", 80 * MB), ("parquet_text_dictionary", 640 * MB)],
)
def test_a_file_that_unfolds_to_much_ends_in_a_sentence(name: str, size: int, tmp_path: Path) -> None:
    check_ending(name, size, ("mmconvert", "convert"), tmp_path)


@pytest.mark.release
@pytest.mark.parametrize("program", [("mmconvert", "convert"), ("mmconvert", "check"), ("mmscore", "score")])
@pytest.mark.parametrize("name", WRITERS)
def test_every_file_that_unfolds_to_much_ends_in_a_sentence(
    name: str, program: tuple[str, ...], tmp_path: Path
) -> None:
    image = name.split("_")[0] in IMAGE_KINDS
    check_ending(name, PIXELS if image else UNFOLDED.get(name, 200) * MB, program, tmp_path)


@pytest.mark.release
def test_each_of_several_workers_decodes_giant_images_under_a_gibibyte(tmp_path: Path) -> None:
    check_ending("png_giants", PIXELS, ("mmconvert", "convert"), tmp_path, more=("--workers", "3"))


@pytest.mark.release
@pytest.mark.parametrize("program", [("mmconvert", "convert"), ("mmconvert", "check"), ("mmscore", "score")])
@pytest.mark.parametrize("name", [name for name in WRITERS if name.startswith(("tsv", "csv", "json"))])
def test_a_row_just_under_the_limit_ends_in_a_sentence(name: str, program: tuple[str, ...], tmp_path: Path) -> None:
    check_ending(name, 63 * MB, program, tmp_path)
