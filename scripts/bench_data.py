"""The data work of scripts/bench: what is deduped, compared, mixed and collated, and what users do today."""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import bench_inputs as inputs  # noqa: E402  (the path is set above)

from mmconvert.curation.near_images import LEAST_LIKENESS, MOST_BITS  # noqa: E402
from mmconvert.curation.perceptual import hash_image, unpack_sketches  # noqa: E402
from support.planted_leaks import KINDS, cut, draw_size, encode, invent_words  # noqa: E402

TRAIN, BENCHMARKS, SAMPLES = 1_000_000, 50, 3_000
PLANTED = 1_000
"""Training images that are altered copies of the benchmarks'."""
_BASES = 240
"""Images of each kind whose hashes the drawn ones are mixed of."""
_SIDE, _LOW, _DRAWN_AT_ONCE = 12, 8, 20_000


def _convert(file: Path, folder: Path, *options: str) -> None:
    program = [sys.executable, "-m", "mmconvert", "convert", str(file), "--quiet", "-o", str(folder), *options]
    subprocess.run(program, check=True)


def forget(source: Path, program: list[str]) -> list[str]:
    """Make a command line that hashes a dataset anew."""
    return ["sh", "-c", 'rm -f "$0"/.mmconvert/fingerprints-*; exec "$@"', str(source), *program]


def small_images(count: int) -> Path:
    """A dataset of images of 256 x 192, a tenth of them copies of the one before: re-encoded, half as large, or cut."""

    def make(folder: Path) -> None:
        draws, numbers = random.Random(1), np.random.default_rng(1)
        noise = numbers.normal(0, 12, (600, 700, 3)).astype(np.int16)
        with tempfile.TemporaryDirectory(dir=folder.parent) as place:
            images = Path(place)
            with (images / "rows.jsonl").open("w", encoding="utf-8") as rows:
                for number in range(count):
                    if number % 10 != 9:
                        grid = numbers.integers(0, 256, (*numbers.integers(4, 12, 2), 3)).astype(np.uint8)
                        smooth = PIL.Image.fromarray(grid).resize((256, 192), PIL.Image.Resampling.BICUBIC)
                        y, x = numbers.integers(0, 400, 2)
                        grained = np.asarray(smooth) + noise[y : y + 192, x : x + 256]
                        picture = PIL.Image.fromarray(np.clip(grained, 0, 255).astype(np.uint8))
                    else:
                        picture = draws.choice((picture, picture.resize((128, 96)), cut(picture, 0.03, 0.03)))
                    (images / f"{number}.jpg").write_bytes(encode(picture, quality=85 if number % 10 != 9 else 70))
                    row = {"id": str(number), "image": f"{number}.jpg", "question": f"What is {number}?", "answer": "x"}
                    rows.write(json.dumps(row) + "\n")
            _convert(images / "rows.jsonl", folder, "--image-root", str(images))

    return inputs.made(f"small-{count}", make)


PHASH = """
import io, pathlib, sys
import numpy, pandas, PIL.Image, scipy.fft
def phash(data):
    grey = numpy.asarray(PIL.Image.open(io.BytesIO(data)).convert("L").resize((32, 32), PIL.Image.Resampling.LANCZOS))
    low = scipy.fft.dct(scipy.fft.dct(grey, axis=0), axis=1)[:8, :8]
    return numpy.packbits(low > numpy.median(low)).tobytes().hex()
frame = pandas.concat(map(pandas.read_parquet, sorted(pathlib.Path(sys.argv[1]).glob("data/*.parquet"))))
frame["phash"] = [phash(images[0]["bytes"]) for images in frame.images]
frame.drop_duplicates("phash").drop(columns="phash").to_parquet(sys.argv[2])
"""
"""ImageHash's `phash` of each image, written with Pillow and SciPy, and pandas' drop_duplicates: equal hashes only."""


def _draw_hashes(count: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Draw hashes of images, distributed as those of the test images and of crops of real photographs.

    Frequencies of an image are the mean of its kind and a random mixture of what its kind's images differ by, which
    keeps means and correlations.

    Yields:
        Bits, uint64 of shape (n, views), and sketches, uint8 of shape (n, views, bytes).
    """
    numbers = np.random.default_rng(seed)
    for start in range(0, count, _DRAWN_AT_ONCE):
        some = min(_DRAWN_AT_ONCE, count - start)
        parts = [
            mean + numbers.standard_normal((size, len(apart)), dtype=np.float32) @ apart
            for (mean, apart), size in zip(_read_bases(), np.diff(np.linspace(0, some, 5).astype(int)), strict=True)
        ]
        drawn = numbers.permutation(np.concatenate(parts)).reshape(some, -1, _SIDE * _SIDE)
        yield _hash_frequencies(drawn)


def _hash_frequencies(drawn: Any) -> tuple[Any, Any]:
    """Hash frequencies, float32 of shape (n, views, 144), as images are hashed."""
    drawn[..., 0] = np.inf  # the mean, which is above the median and has no place in a sketch
    low = drawn.reshape(*drawn.shape[:2], _SIDE, _SIDE)[..., :_LOW, :_LOW].reshape(*drawn.shape[:2], -1)
    bits = np.packbits(low > np.median(low, axis=-1, keepdims=True), axis=-1).view(">u8").astype(np.uint64)[..., 0]
    drawn[..., 0] = 0
    roots = np.sign(drawn) * np.sqrt(np.abs(drawn))
    steps = (np.rint(roots / np.abs(roots).max(axis=-1, keepdims=True) * 7) + 8).astype(np.uint8)
    return bits, steps[..., ::2] << 4 | steps[..., 1::2]


def _read_bases() -> list[tuple[Any, Any]]:
    """Give the mean frequencies of each kind of image, and what its images differ by."""

    def make(path: Path) -> None:
        draws = random.Random(5)
        files = [encode(draw(draws, draw_size(draws))) for draw in KINDS.values() for _ in range(_BASES)]
        real = sorted(path for kind in ("*.jpg", "*.png") for path in (inputs.SHARED.parent / "real").rglob(kind))
        for _ in range(_BASES):
            with PIL.Image.open(draws.choice(real)) as picture:
                left, top = (draws.uniform(0, 0.4) for _ in range(2))
                box = (left, top, left + draws.uniform(0.35, 0.6), top + draws.uniform(0.35, 0.6))
                scaled = [round(share * side) for share, side in zip(box, picture.size * 2, strict=True)]
                files.append(encode(picture.convert("RGB").crop((scaled[0], scaled[1], scaled[2], scaled[3]))))
        hashed = [hash_image(file) for file in files]
        sketches = np.stack([one.sketches if one else np.full_like(hashed[0].sketches, 0x88) for one in hashed])
        with path.open("wb") as file:
            np.save(file, sketches)

    sketches = np.load(inputs.made("bases.npy", make))
    roots = unpack_sketches(sketches.reshape(-1, sketches.shape[-1])).astype(np.float32)
    kinds = (np.sign(roots) * roots**2).reshape(-1, _BASES, sketches.shape[1] * _SIDE * _SIDE)
    return [(kind.mean(axis=0), (kind - kind.mean(axis=0)) / _BASES**0.5) for kind in kinds]


def _write_texts(path: Path, count: int, seed: int) -> None:
    draws = random.Random(seed)
    words = invent_words(draws, 2_000)
    with path.open("w", encoding="utf-8") as rows:
        for number in range(count):
            asked = f"{' '.join(draws.choices(words, k=12))}?"
            rows.write(json.dumps({"id": str(number), "question": asked, "answer": "x"}) + "\n")


def _write_hashes(fingerprints: Path, target: Path, hashes: tuple[Any, Any], names: list[str] | None = None) -> None:
    """Put an image into each row of fingerprints."""
    bits, sketches = hashes
    source = pq.ParquetFile(fingerprints)
    first = 0
    with pq.ParquetWriter(target, source.schema_arrow, compression="zstd") as writer:
        for batch in source.iter_batches(batch_size=1 << 16):
            some = slice(first, first + len(batch))
            digests = [f"{target.stem[:8]:<8}{number:024d}".encode() for number in range(first, first + len(batch))]
            image = batch.schema.field("images").type.value_type
            values = [
                digests,
                ["hashed"] * len(batch),
                [row.tobytes() for row in bits[some]],
                [row.tobytes() for row in sketches[some]],
            ]
            columns = [pa.array(value, field.type) for value, field in zip(values, image, strict=True)]
            images = pa.ListArray.from_arrays(
                pa.array(range(len(batch) + 1), pa.int32()), pa.StructArray.from_arrays(columns, fields=list(image))
            )
            batch = batch.set_column(batch.schema.get_field_index("images"), batch.schema.field("images"), images)
            if names is not None:
                batch = batch.set_column(0, batch.schema.field(0), pa.array(names[some], pa.string()))
            writer.write_batch(batch)
            first += len(batch)


def _join(parts: Iterator[tuple[Any, Any]]) -> tuple[Any, Any]:
    bits, sketches = zip(*parts, strict=True)
    return np.concatenate(bits), np.concatenate(sketches)


def known_hashes() -> tuple[Path, Path]:
    """A training set whose fingerprints are kept beside it, and the fingerprints of 50 benchmarks in one file."""
    count = BENCHMARKS * SAMPLES

    def make(folder: Path) -> None:
        folder.mkdir()
        for name, rows, seed in (("train", TRAIN, 3), ("benchmarks", count, 4)):
            _write_texts(folder / f"{name}.jsonl", rows, seed)
            _convert(folder / f"{name}.jsonl", folder / name)
            program = [sys.executable, "-m", "mmconvert", "fingerprint", str(folder / name), "--quiet"]
            subprocess.run([*program, "-o", str(folder / "made.parquet")], check=True, stdout=subprocess.DEVNULL)
        bench, train = _join(_draw_hashes(count, 1)), _join(_draw_hashes(TRAIN, 2))
        # Three bits of a copy are turned over.
        copied, places = range(0, TRAIN, TRAIN // PLANTED), range(0, count, count // PLANTED)
        train[0][copied], train[1][copied] = bench[0][places] ^ np.uint64(0b111 << 30), bench[1][places]
        names = [f"bench{number // SAMPLES:02d}" for number in range(count)]
        _write_hashes(folder / "made.parquet", folder / "bench.parquet", bench, names)
        (kept,) = (folder / "train/.mmconvert").glob("fingerprints-*.parquet")
        _write_hashes(kept, folder / "new.parquet", train)
        (folder / "new.parquet").replace(kept)

    folder = inputs.made("overlap", make)
    return folder / "train", folder / "bench.parquet"


def compare_all(sample: int = 200) -> float:
    """Look some training images up by brute force in NumPy, checked alike; give the seconds of all, estimated."""
    bench, train = _join(_draw_hashes(BENCHMARKS * SAMPLES, 1)), next(_draw_hashes(_DRAWN_AT_ONCE, 2))
    roots = unpack_sketches(bench[1].reshape(-1, bench[1].shape[-1])).astype(np.float32)
    roots /= np.linalg.norm(roots, axis=1, keepdims=True)
    roots = roots.reshape(*bench[0].shape, -1)
    started = time.perf_counter()
    for bits, sketches in zip(train[0][:sample], train[1][:sample], strict=True):
        asked = unpack_sketches(sketches).astype(np.float32)
        asked /= np.linalg.norm(asked, axis=1, keepdims=True)
        for view, one in enumerate(bits):
            # The whole image beside all views, and its insets beside whole images.
            known, drawn = (bench[0], roots) if view == 0 else (bench[0][:, :1], roots[:, :1])
            near = np.nonzero(np.bitwise_count(known ^ one) <= MOST_BITS)
            np.flatnonzero(drawn[near] @ asked[view] >= LEAST_LIKENESS)
    return (time.perf_counter() - started) * TRAIN / sample


def image_dataset() -> Path:
    """20,000 images of 92 kB as a dataset."""
    source = inputs.image_folder(20_000)
    return inputs.made("images-20000-set", lambda folder: _convert(source / "llava.json", folder))


MIXING = """
import datasets, sys, tempfile
datasets.disable_progress_bars()
out = sys.argv[-1]
with tempfile.TemporaryDirectory() as cache:
    both = [
        datasets.load_dataset("parquet", data_files=f"{source}/data/*.parquet", split="train", cache_dir=cache)
        for source in sys.argv[1:-1]
    ]
    both = [rows.cast_column("images", datasets.List(datasets.Image(decode=False))) for rows in both]
    datasets.interleave_datasets(both, probabilities=[0.5, 0.5], seed=0).to_parquet(out)
"""
"""load_dataset and interleave_datasets, until the first source has no more rows, as LLaMA-Factory calls it."""

CONDITION = "width >= 340 and answer = 'A'"
FILTERING = """
import datasets, sys, tempfile
datasets.disable_progress_bars()
source, out = sys.argv[1:]
def wanted(row):
    return row["answer"] == "A" and all(image["width"] >= 340 for image in row["image_info"])
with tempfile.TemporaryDirectory() as cache:
    rows = datasets.load_dataset("parquet", data_files=f"{source}/data/*.parquet", split="train", cache_dir=cache)
    rows = rows.cast_column("images", datasets.List(datasets.Image(decode=False))).filter(wanted)
    rows.select_columns(["id", "images", "messages", "answer"]).to_parquet(out)
"""
"""`CONDITION` by load_dataset and filter, and some columns as parquet."""

TEXT_CONDITION = "question like '%of 7 and %'"
TEXT_FILTERING = """
import datasets, sys, tempfile
datasets.disable_progress_bars()
source, out = sys.argv[1:]
with tempfile.TemporaryDirectory() as cache:
    rows = datasets.load_dataset("json", data_files=source, split="train", cache_dir=cache)
    rows.filter(lambda row: "of 7 and " in row["messages"][1]["content"]).to_parquet(out)
"""
"""`TEXT_CONDITION` by load_dataset("json") and filter."""


def collate(rounds: int) -> None:
    """Print the rows a second of both collators on the same rows, with an image of 56 x 56 in each."""
    from trl.chat_template_utils import get_training_chat_template
    from trl.trainer.sft_trainer import DataCollatorForVisionLanguageModeling

    from mmconvert.chat.collate import ChatCollator
    from support.tiny_processors import build_qwen2_vl
    from support.training_rows import make_row, say

    processor = build_qwen2_vl()
    turns = [say("user", "What is this?", 1), say("assistant", "It is a dog.")]
    turns += [say("user", "Is it one or two?"), say("assistant", "One, and a cat sits behind it.")] * 3
    data = [make_row(*turns, seed=number) for number in range(512)]
    template = get_training_chat_template(processor)
    theirs = DataCollatorForVisionLanguageModeling(processor, assistant_only_loss=True, chat_template=template)
    collators: dict[str, Callable[[Any], Any]] = {"ChatCollator": ChatCollator(processor), "TRL": theirs}
    speeds: dict[str, list[float]] = {name: [] for name in collators}
    for _ in range(rounds + 1):
        for name, collator in collators.items():
            batches = [[dict(row) for row in data[start : start + 16]] for start in range(0, len(data), 16)]
            started = time.perf_counter()
            for batch in batches:
                collator(batch)
            speeds[name].append(len(data) / (time.perf_counter() - started))
    ours, base = (statistics.median(speeds[name][1:]) for name in collators)
    print(f"ChatCollator {ours:,.0f} rows/s, TRL's {base:,.0f} rows/s, {ours / base:.1f} times as fast")
