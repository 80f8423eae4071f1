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
from typing import Any, NamedTuple
from unittest import mock

import PIL.Image

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from mmconvert.core.record import Image, Part, Record, Source, Turn  # noqa: E402
from mmconvert.dataset.dataset import DatasetWriter  # noqa: E402
from mmconvert.dataset.manifest import MANIFEST, read_manifest  # noqa: E402
from mmconvert.dataset.verify import verify  # noqa: E402
from mmconvert.pipeline import parts  # noqa: E402
from mmconvert.pipeline.convert import ReadOptions  # noqa: E402
from mmconvert.pipeline.inputs import plan_inputs  # noqa: E402
from mmconvert.pipeline.read import Records  # noqa: E402
from mmconvert.storage.source_files import Sources  # noqa: E402
from support.hub_server import hub_server  # noqa: E402  (the path is set above)

GIGABYTES = 5
SHARDS, FILES = 100_000, 1_000
FLIPS = 500


def records(size: int, side: int) -> Iterator[Record]:
    """Rows with an image of noise each, a few of which take turns, until there are so many bytes."""
    shown_images = []
    for _ in range(50):
        buffer = io.BytesIO()
        PIL.Image.effect_noise((side, side), 60).convert("RGB").save(buffer, "JPEG", quality=95)
        shown_images.append(buffer.getvalue())
    number = 0
    while size > 0:
        data = shown_images[number % len(shown_images)]
        turn = Turn("user", (Part("image"), Part("text", f"Question {number}?")))
        source, image = Source("bench", "bench.jsonl", number), Image(data, 1, format="JPEG", width=side, height=side)
        yield Record(str(number), str(number), (turn,), "vqa", source, images=(image,))
        size -= len(data)
        number += 1


class Planned(NamedTuple):
    """Parts of a plan, the seconds it took, the bytes of the manifest of as many shards, the seconds to read it."""

    parts: int
    seconds: float
    manifest: int
    read_seconds: float


def push(
    measured: Callable[[list[str]], Any], size: int = GIGABYTES << 30, side: int = 1200, times: int = 2
) -> list[Any]:
    """Push images of so many bytes to a Hub on the loopback interface; give what each time took."""
    with tempfile.TemporaryDirectory() as work, hub_server() as server:
        folder = Path(work) / "data"
        with DatasetWriter(folder) as writer:
            writer.write(records(size, side))
        command = [sys.executable, "-m", "mmconvert", "push", str(folder), "user/large", "--quiet"]
        with mock.patch.dict(os.environ, server.environment(Path(work) / "home"), clear=True):
            return [measured(command) for _ in range(times)]


def many_parts(shards: int = SHARDS, files: int = FILES) -> Planned:
    """Plan files that are cut into so many parts in all, and write and read a manifest of as many shards."""
    with tempfile.TemporaryDirectory() as work:
        first = Path(work) / "files" / "f0.jsonl"
        first.parent.mkdir()
        line = json.dumps({"messages": [{"role": "user", "content": "x" * 400}], "answer": "a"}) + "\n"
        first.write_text(line * (shards // files))
        for number in range(1, files):
            (first.parent / f"f{number}.jsonl").hardlink_to(first)
        # Parts of one row each: what a plan costs is the number of parts, not the bytes in them.
        sizes = {"SMALL_FILE": 1, "PART_BYTES": len(line)}
        with mock.patch.multiple(parts, **sizes), DatasetWriter(Path(work) / "out") as writer:
            started = time.perf_counter()
            inputs = plan_inputs([str(first.parent)], split="train")
            how = ReadOptions(format="openai_messages")
            read = [Records(source, how) for source in inputs]
            folders = [writer.make_folder(source.split) for source in inputs]
            plans = parts.plan_parts(inputs, read, how)
            pattern = parts.FilePart(0, inputs[0], None, folders[0], how)
            planned = sum(1 for _ in parts.split_inputs(inputs, read, folders, pattern, Sources(), plans))
            seconds = time.perf_counter() - started
            writer.write(records(1, 8), split="train")
        return Planned(planned, seconds, *_manifest(Path(work) / "out", shards))


def _manifest(folder: Path, shards: int) -> tuple[int, float]:
    """Let the manifest of a dataset list so many shards, and read it."""
    file = folder / MANIFEST
    whole = json.loads(file.read_bytes())
    (shard,) = whole["configs"]["default"]["train"]
    names = (f"data/train-{number:06d}-of-{shards:06d}.parquet" for number in range(shards))
    whole["configs"]["default"]["train"] = [{**shard, "file": name, "bytes": 268_435_456} for name in names]
    file.write_text(json.dumps(whole, indent=1, ensure_ascii=False))
    started = time.perf_counter()
    found, _ = read_manifest(folder)
    assert len(found["default"]["train"]) == shards
    return file.stat().st_size, time.perf_counter() - started


def flips(times: int = FLIPS) -> int:
    """Change single bits of a dataset's shards anywhere, one at a time; count those that `verify` finds."""
    random = Random(0)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "data"
        with DatasetWriter(folder) as writer:
            writer.write(records(1 << 20, 200))
        files = sorted(folder.rglob("*.parquet"))
        found = 0
        for _ in range(times):
            file = random.choices(files, [file.stat().st_size for file in files])[0]
            data = bytearray(file.read_bytes())
            place = random.randrange(len(data))
            data[place] ^= 1 << random.randrange(8)
            whole = file.read_bytes()
            file.write_bytes(data)
            found += bool(verify(folder))
            file.write_bytes(whole)
        if verify(folder):
            sys.exit("failed: the dataset is not whole again")
    return found


def run(measured: Callable[[list[str]], Any]) -> None:
    """Print what each takes."""
    print(f"verify  {flips()} of {FLIPS} single changed bits found")
    planned = many_parts()
    print(f"plan    {planned.parts:,} parts of {FILES:,} files in {planned.seconds:.1f} s (asked: under 10)")
    size = f"{planned.manifest / 1e6:.0f} MB (asked: under 50)"
    print(f"        its manifest: {size}, read in {planned.read_seconds:.1f} s")
    first, again = push(measured)
    print(f"push    {GIGABYTES} GiB of images in {first.seconds:.0f} s, peak {first.peak:.0f} MB (asked: under 400)")
    print(f"        again, when all has arrived: {again.seconds:.0f} s, peak {again.peak:.0f} MB")
