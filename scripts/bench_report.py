"""What a report as a page takes at 10,000 rows: its writing, its size, and how fast it is in a real Chromium."""

import hashlib
import io
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

import bench_inputs as inputs  # noqa: E402  (the path is set above)

from mmconvert.core.record import Image, Part, Record, Source, Turn  # noqa: E402
from mmconvert.dataset.dataset import DatasetWriter  # noqa: E402
from support.browser import chromium, load_seconds, opened, painted_ms, running_browser  # noqa: E402

ROWS = 10_000
OPTIONS = ("red", "green", "blue", "yellow")
CATEGORIES = tuple(f"category {n}" for n in range(12))
ACTIONS = {
    "wrong": "mm.setFilter('wrong', true)",
    "models disagree": "mm.setFilter('models disagree', true)",
    "category": "mm.setFilter('category', 'category 3')",
    "search, as typed": "mm.setFilter('search', 'question 77')",
    "sort": "mm.sortBy('reference')",
    "open": "mm.openItem('77')",
}

FLOOR = """
import concurrent.futures, io, multiprocessing, os, pathlib, sys
import PIL.Image, pyarrow.parquet as pq
def make(task):
    file, group = task
    sizes = []
    for images in pq.ParquetFile(file).read_row_group(group, columns=["images"]).column("images").to_pylist():
        with PIL.Image.open(io.BytesIO(images[0]["bytes"])) as image:
            image.draft("RGB", (96, 72))
            image.thumbnail((96, 96), PIL.Image.Resampling.HAMMING)
            out = io.BytesIO()
            image.save(out, "JPEG", quality=65, optimize=True)
            sizes.append(out.tell())
    return sizes
tasks = [(file, n) for file in sorted(pathlib.Path(sys.argv[1], "data").glob("*.parquet"))
         for n in range(pq.ParquetFile(file).num_row_groups)]
context = multiprocessing.get_context("fork")
with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0)), context) as processes:
    print(sum(map(len, processes.map(make, tasks))))
"""
"""What the thumbnails of all images cost Pillow on all cores; nothing is checked, scored or written."""


def records() -> Iterator[Record]:
    random = Random(1)
    for n in range(ROWS):
        buffer = io.BytesIO()
        PIL.Image.effect_noise((40, 30), 80).convert("RGB").resize((640, 480)).save(buffer, "JPEG", quality=90)
        data = buffer.getvalue()
        digest = hashlib.sha256(data).hexdigest()
        image = Image(data, 1, format="JPEG", width=640, height=480, sha256=digest)
        text = f"Question {n}: which colour is seen most? " + "Look at the whole image. " * 10
        turn = Turn("user", (Part("image"), Part("text", text)))
        yield Record(
            *(str(n), str(n), (turn,), "multiple_choice", Source("bench", "bench.jsonl", n)),
            images=(image,),
            question=text,
            options=OPTIONS,
            answer=random.choice("ABCD"),
            category=random.choice(CATEGORIES),
        )


def dataset() -> Path:
    def make(path: Path) -> None:
        with DatasetWriter(path) as writer:
            writer.write(records())

    return inputs.made(f"report-{ROWS}", make)


def replies(name: str, seed: int) -> Path:
    def make(path: Path) -> None:
        random = Random(seed)
        said = [f"{'I look at it closely. ' * 12}The answer is ({random.choice('ABCD')})." for _ in range(ROWS)]
        ids = [str(n) for n in range(ROWS)]
        pq.write_table(pa.table({"id": ids, "prediction": said, "model": [name] * ROWS}), path)

    return inputs.made(f"report-{name}-{ROWS}.parquet", make)


def run(measured: Callable[..., Any], rounds: int) -> None:
    """Write the page of two models, load it, and filter it."""
    if chromium() is None:
        sys.exit("no Chromium on this machine: apt-get install chromium")
    page = inputs.DATA / "report.html"
    files = [str(replies(name, seed)) for seed, name in enumerate(("one", "two"))]
    command = [
        sys.executable,
        "-m",
        "mmscore",
        *files,
        "--recipe",
        "own_choice",
        "--answers",
        str(dataset()),
        "--quiet",
    ]
    commands = {
        "written": [*command, "--html", str(page)],
        "without": command,
        "floor": [sys.executable, "-c", FLOOR, str(dataset())],
    }
    runs = {name: [measured(one, watched=False) for _ in range(rounds)] for name, one in commands.items()}
    median = {name: statistics.median(run.seconds for run in each) for name, each in runs.items()}
    print(f"written  {median['written']:.1f} s, peak {measured(commands['written']).peak:.0f} MB (asked: 8 s)")
    print(
        f"         scored without a page {median['without']:.1f} s; thumbnails by Pillow alone {median['floor']:.1f} s"
    )
    print(f"size     {page.stat().st_size / 1e6:.1f} MB, {ROWS:,} rows with an image each, two models")
    with running_browser() as browser:
        loads = [load_seconds(browser, page) for _ in range(rounds)]
        print(f"load     {statistics.median(loads):.2f} s (asked: under 2)")
        times: dict[str, list[float]] = {name: [] for name in ACTIONS}
        with opened(browser, page) as shown:
            for _ in range(rounds):
                for name, action in ACTIONS.items():
                    times[name].append(painted_ms(shown, action))
                    painted_ms(shown, "mm.clear(); if (mm.state.item !== null) mm.closeItem()")
        for name, taken in times.items():
            print(f"{name:<17} {statistics.median(taken):4.0f} ms, {max(taken):.0f} at most (asked: under 100)")
