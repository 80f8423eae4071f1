"""What publishing costs at sizes that no test has: a push of gigabytes, a plan of many parts, single changed bytes."""

import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import PIL.Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from mmconvert import parts  # noqa: E402
from mmconvert.conversion import ReadOptions  # noqa: E402
from mmconvert.errors import Error  # noqa: E402
from mmconvert.inputs import plan  # noqa: E402
from mmconvert.manifest import MANIFEST, read_manifest  # noqa: E402
from mmconvert.reading import Records  # noqa: E402
from mmconvert.record import Image, Part, Record, Source, Turn  # noqa: E402
from mmconvert.store import DatasetWriter  # noqa: E402
from mmconvert.verification import verify  # noqa: E402
from support.hub_server import hub_server  # noqa: E402  (the path is set above)

GIGABYTES = 5
SHARDS, FILES = 100_000, 1_000
FLIPS = 500


def records(size: int, side: int) -> Iterator[Record]:
    """Rows with a picture of noise each, a few of which take turns, until there are so many bytes."""
    pictures = []
    for _ in range(50):
        buffer = io.BytesIO()
        PIL.Image.effect_noise((side, side), 60).convert("RGB").save(buffer, "JPEG", quality=95)
        pictures.append(buffer.getvalue())
    number = 0
    while size > 0:
        data = pictures[number % len(pictures)]
        turn = Turn("user", (Part("image"), Part("text", f"Question {number}?")))
        source, image = Source("bench", "bench.jsonl", number), Image(data, 1, format="JPEG", width=side, height=side)
        yield Record(str(number), str(number), (turn,), "vqa", source, images=(image,))
        size -= len(data)
        number += 1


def push(measured: Callable[[list[str]], Any]) -> None:
    """Push gigabytes to a Hub on the loopback interface; the memory is that of the pushing process."""
    with tempfile.TemporaryDirectory() as work, hub_server() as server:
        folder = Path(work) / "data"
        with DatasetWriter(folder) as writer:
            writer.write(records(GIGABYTES << 30, 1200))
        os.environ.update(server.environment(Path(work) / "home"))
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet"))
        run = measured([sys.executable, "-m", "mmconvert", "push", str(folder), "user/large", "--quiet"])
        print(f"push    {size / 1e9:.1f} GB in {run.seconds:.0f} s, peak {run.peak:.0f} MB (asked: under 400)")
        again = measured([sys.executable, "-m", "mmconvert", "push", str(folder), "user/large", "--quiet"])
        print(f"        again, when all has arrived: {again.seconds:.0f} s, peak {again.peak:.0f} MB")


def many_parts() -> None:
    """Plan files that are cut into 100,000 parts in all, and write and read a manifest of as many shards."""
    with tempfile.TemporaryDirectory() as work:
        first = Path(work) / "files" / "f0.jsonl"
        first.parent.mkdir()
        line = json.dumps({"messages": [{"role": "user", "content": "x" * 400}], "answer": "a"}) + "\n"
        first.write_text(line * (SHARDS // FILES))
        for number in range(1, FILES):
            (first.parent / f"f{number}.jsonl").hardlink_to(first)
        # Parts of one row each: what a plan costs is the number of parts, not the bytes in them.
        parts.SMALL_FILE, parts.PART_BYTES = 1, len(line)
        started = time.perf_counter()
        inputs = plan([str(first.parent)], split="train")
        how = ReadOptions(format="openai_messages")
        with DatasetWriter(Path(work) / "out") as writer:
            files = [Records(source, how) for source in inputs]
            folders = [writer.folder(source.split) for source in inputs]
            pattern = parts.Part(0, inputs[0], None, folders[0], how)
            planned = sum(1 for _ in parts.all_parts(inputs, files, folders, pattern, False))
            seconds = time.perf_counter() - started
            print(f"plan    {planned:,} parts of {FILES:,} files in {seconds:.1f} s (asked: under 10)")
            writer.write(records(1, 8), split="train")
        _manifest(Path(work) / "out")


def _manifest(folder: Path) -> None:
    """Let the manifest of a dataset list 100,000 shards, and read it."""
    file = folder / MANIFEST
    whole = json.loads(file.read_bytes())
    (shard,) = whole["configs"]["default"]["train"]
    names = (f"data/train-{number:06d}-of-{SHARDS:06d}.parquet" for number in range(SHARDS))
    whole["configs"]["default"]["train"] = [{**shard, "file": name, "bytes": 268_435_456} for name in names]
    file.write_text(json.dumps(whole, indent=1, ensure_ascii=False))
    started = time.perf_counter()
    shards, _ = read_manifest(folder)
    assert len(shards["default"]["train"]) == SHARDS
    size = file.stat().st_size
    print(f"        its manifest: {size / 1e6:.0f} MB (asked: under 50), read in {time.perf_counter() - started:.1f} s")


def flips() -> None:
    """Change single bytes of a dataset anywhere, one at a time, and verify it."""
    random = Random(0)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "data"
        with DatasetWriter(folder) as writer:
            writer.write(records(1 << 20, 200))
        files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "README.md"]
        found = 0
        for _ in range(FLIPS):
            file = random.choices(files, [file.stat().st_size for file in files])[0]
            data = bytearray(file.read_bytes())
            place = random.randrange(len(data))
            data[place] ^= 1 << random.randrange(8)
            whole = file.read_bytes()
            file.write_bytes(data)
            try:
                found += bool(verify(folder))
            except Error:
                found += 1
            file.write_bytes(whole)
        if verify(folder):
            sys.exit("failed: the dataset is not whole again")
        print(f"verify  {found} of {FLIPS} single changed bits found")


def run(measured: Callable[[list[str]], Any]) -> None:
    """Print what each takes."""
    flips()
    many_parts()
    push(measured)
