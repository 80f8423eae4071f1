"""The files that scripts/bench reads, made once, and what users do with such files today."""

import csv
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared/bench"
DATA = ROOT / "build/bench"


def made(name: str, make: Callable[[Path], None]) -> Path:
    """Give a file of the bench's folder, made by the first who asks."""
    path = DATA / name
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"new-{name}")
        make(temporary)
        temporary.rename(path)
    return path


def image_folder(count: int) -> Path:
    """A folder with llava.json and so many images of 92 kB."""
    folder = DATA / f"images-{count}"
    if not (folder / "llava.json").exists():
        subprocess.run([sys.executable, str(SHARED / "make_image_folder.py"), str(folder), str(count)], check=True)
    return folder


def lmudata(rows: int) -> Path:
    """An LMUData TSV with an image of 100 kB in each row: 107 kB a row."""

    def make(path: Path) -> None:
        command = [sys.executable, SHARED / "make_lmudata.py", path, "--rows", str(rows)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return made(f"lmudata-{rows}.tsv", make)


def lmudata_dataset() -> Path:
    """The same as a dataset."""

    def make(folder: Path) -> None:
        command = [sys.executable, "-m", "mmconvert", "convert", str(lmudata(8_000)), "--format", "lmudata"]
        subprocess.run([*command, "--quiet", "-o", str(folder)], check=True)

    return made("lmudata-8000", make)


def messages_with_images() -> Path:
    """4,000 rows of OpenAI messages, each with an image of 100 kB as a data URL."""

    def make(path: Path) -> None:
        csv.field_size_limit(1 << 30)
        with lmudata(8_000).open(newline="", encoding="utf-8") as source, path.open("w", encoding="utf-8") as target:
            for row, _ in zip(csv.DictReader(source, delimiter="\t"), range(4_000), strict=False):
                image = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{row['image']}"}}
                text = {"type": "text", "text": row["question"]}
                turn = {"role": "user", "content": [image, text]}
                target.write(json.dumps({"id": row["index"], "messages": [turn], "answer": row["answer"]}) + "\n")

    return made("messages-4000.jsonl", make)


def few_messages() -> Path:
    """The first 100 rows of `text_messages`."""

    def make(path: Path) -> None:
        with text_messages().open("rb") as source, path.open("wb") as target:
            target.writelines(source.readline() for _ in range(100))

    return made("messages-100.jsonl", make)


def addresses(url: str, count: int) -> Path:
    """Write questions about images at addresses; `{}` in the address is the number."""
    path = DATA / "addresses.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            parts = [{"type": "image_url", "image_url": {"url": url.format(number)}}, {"type": "text", "text": "?"}]
            file.write(json.dumps({"messages": [{"role": "user", "content": parts}], "answer": "x"}) + "\n")
    return path


def text_messages() -> Path:
    """A million rows of OpenAI messages without images."""

    def make(path: Path) -> None:
        words = random.Random(1)
        with path.open("w", encoding="utf-8") as target:
            for n in range(1_000_000):
                question = f"Question {n}: which of {words.randrange(99)} and {words.randrange(99)} is larger, and why?"
                turns = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": question}]
                target.write(json.dumps({"id": str(n), "messages": turns, "answer": "the second"}) + "\n")

    return made("messages-1m.jsonl", make)


def text_dataset() -> Path:
    """The same as a dataset."""

    def make(folder: Path) -> None:
        command = [sys.executable, "-m", "mmconvert", "convert", str(text_messages()), "--quiet", "-o", str(folder)]
        subprocess.run(command, check=True)

    return made("messages-1m", make)


def small_files() -> Path:
    """A folder of 2,000 files of OpenAI messages without images, 50 kB each."""

    def make(folder: Path) -> None:
        folder.mkdir()
        with text_messages().open(encoding="utf-8") as source:
            for number in range(2_000):
                lines = [line for line, _ in zip(source, range(310), strict=False)]
                (folder / f"part-{number:04d}.jsonl").write_text("".join(lines), encoding="utf-8")

    return made("small-files", make)


def workbook() -> Path:
    """A workbook of 100,000 predictions as VLMEvalKit writes them."""
    names = ["index", "question", "A", "B", "C", "D", "answer", "category", "l2-category", "split", "prediction"]

    def make(path: Path) -> None:
        with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, names)
            for n in range(100_000):
                question = f"Which of these is in image {n}?"
                row = [n, question, "red", "green", "blue", "black", "ABCD"[n % 4], "colour", "perception", "dev"]
                sheet.write_row(n + 1, 0, [*row, f"The answer is {'ABCD'[n % 3]}."])

    return made("model_MMBench_DEV_EN.xlsx", make)


def predictions(count: int) -> Path:
    """Multiple-choice predictions."""

    def make(path: Path) -> None:
        words, n = random.Random(1), count
        forms = ["{}", "({})", "The answer is {}.", "{}. because of it", "I would say that it is option {}"]
        columns = {
            "id": [str(i) for i in range(n)],
            "task": ["multiple_choice"] * n,
            "question": ["q"] * n,
            "options": [["red", "green", "blue", "black"]] * n,
            "answer": [words.choice("ABCD") for _ in range(n)],
            "prediction": [words.choice(forms).format(words.choice("ABCD")) for _ in range(n)],
            "category": [f"c{i % 20}" for i in range(n)],
        }
        pq.write_table(pa.table(columns), path)

    return made(f"predictions-{count}.parquet", make)


COUNTING = """
import pandas, pathlib, sys
for file in sorted(pathlib.Path(sys.argv[1]).glob("data/*.parquet")):
    names = ["id", "messages", "image_info", "question", "answer", "task", "category"]
    frame = pandas.read_parquet(file, columns=names)
    print(frame.task.value_counts(), frame.category.value_counts(), frame.isna().mean())
    print(frame.id.duplicated().sum(), frame.question.duplicated().sum(), frame.answer.str.len().describe())
    print(frame.messages.map(len).describe())
    texts = frame.messages.map(lambda turns: "".join(part["text"] for turn in turns for part in turn["content"]))
    print(texts.str.len().describe(), texts.duplicated().sum())
    images = [image for row in frame.image_info for image in row]
    images = pandas.DataFrame(images, columns=["width", "height", "sha256"])
    print(images.describe(), images.sha256.duplicated().sum())
"""
"""What a user counts with pandas, file by file: lengths, turns, sizes, values, duplicates; no scripts, no splits."""

JSON_RECIPE = """
import base64, datasets, json, sys, tempfile
source, out = sys.argv[1:]
def rows():
    for line in open(source, encoding="utf-8"):
        row = json.loads(line)
        images = []
        for turn in row["messages"]:
            for part in turn["content"] if isinstance(turn["content"], list) else []:
                if part["type"] == "image_url":
                    payload = part["image_url"].pop("url").partition(",")[2]
                    images.append({"bytes": base64.b64decode(payload), "path": None})
        yield {"id": row["id"], "messages": json.dumps(row["messages"]), "answer": row["answer"], "images": images}
features = datasets.Features({"id": datasets.Value("string"), "messages": datasets.Value("string"),
    "answer": datasets.Value("string"), "images": datasets.List(datasets.Image())})
with tempfile.TemporaryDirectory() as cache:
    datasets.Dataset.from_generator(rows, cache_dir=cache, features=features).to_parquet(out)
"""
"""JSON Lines by json, base64 and Dataset.from_generator."""

FILES_RECIPE = """
import datasets, json, pathlib, sys, tempfile
datasets.disable_progress_bars()
source, out = map(pathlib.Path, sys.argv[1:])
out.mkdir()
def rows(file):
    for line in open(file, encoding="utf-8"):
        row = json.loads(line)
        yield {"id": row["id"], "messages": json.dumps(row["messages"]), "answer": row["answer"]}
for file in sorted(source.iterdir()):
    with tempfile.TemporaryDirectory() as cache:
        found = datasets.Dataset.from_generator(rows, cache_dir=cache, gen_kwargs={"file": str(file)})
        found.to_parquet(out / f"{file.stem}.parquet")
"""
"""Each file of a folder by json and Dataset.from_generator."""

EXPORT_RECIPE = """
import base64, datasets, hashlib, json, pandas, pathlib, sys, tempfile
datasets.disable_progress_bars()
source, out, kind = sys.argv[1:]
with tempfile.TemporaryDirectory() as cache:
    shards = datasets.load_dataset("parquet", data_files=f"{source}/data/*.parquet", split="train", cache_dir=cache)
    rows = shards.cast_column("images", datasets.List(datasets.Image(decode=False)))
    if kind == "lmudata":
        def lay_out(row):
            image = base64.b64encode(row["images"][0]["bytes"]).decode()
            options = dict(zip("ABCD", row["options"]))
            return {"index": row["id"], "image": image, "question": row["question"], **options, "answer": row["answer"]}
        pandas.DataFrame(map(lay_out, rows)).to_csv(out, sep="\\t", index=False)
    if kind == "llava":
        folder = pathlib.Path(out).parent / "images"
        folder.mkdir()
        def lay_out(row):
            data = row["images"][0]["bytes"]
            path = folder / f"{hashlib.sha256(data).hexdigest()}.jpg"
            path.write_bytes(data)
            turns = [{"from": "human", "value": "<image>" + row["question"]}, {"from": "gpt", "value": row["answer"]}]
            return {"id": row["id"], "image": f"images/{path.name}", "conversations": turns}
        pathlib.Path(out).write_text(json.dumps([lay_out(row) for row in rows], ensure_ascii=False))
    if kind == "trl":
        def lay_out(row):
            reply = {"role": "assistant", "content": [{"type": "text", "text": row["answer"]}]}
            return {"messages": [*row["messages"], reply]}
        rows.select_columns(["id", "images", "messages", "answer"]).map(lay_out).to_parquet(out)
"""
"""A dataset of ours as another format, by load_dataset with pandas or json, or by map."""

_SHARDS = """
import hashlib, itertools, os, pathlib, sys
import pyarrow as pa, pyarrow.parquet as pq
from mmconvert.core.arrow import build_binary, build_column
from mmconvert.dataset.shards import CHUNKING
from mmconvert.storage.parquet_sink import HashedFile
schema = pa.schema([("image", pa.binary()), ("sha256", pa.string()), ("text", pa.string())])
options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
options |= {"write_page_checksum": True, "use_content_defined_chunking": CHUNKING}
def write(rows, path):
    file = HashedFile(pathlib.Path(path))
    with pq.ParquetWriter(file.stream, schema, **options) as writer:
        while group := list(itertools.islice(rows, 230)):
            images, digests, texts = zip(*group)
            columns = [build_binary(images), build_column(digests, pa.string()), build_column(texts, pa.string())]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    file.finish()
def write_each(read, pieces):
    for number, piece in enumerate(pieces):
        if not os.fork():
            write(read(piece), f"{sys.argv[2]}-{number}")
            os._exit(0)
    assert not any(os.wait()[1] for _ in pieces)
"""
"""Shards as `mmconvert` writes them, with fewer columns, by a process a piece."""

_ROWS = """
import pybase64, re
def read_images(piece):
    with open(sys.argv[1], "rb") as file:
        names = file.readline().rstrip(b"\\n").split(b"\\t")
        image, question = names.index(b"image"), names.index(b"question")
        at = max(file.tell(), piece[0])
        file.seek(at - 1)
        line = file.readline()
        while not re.match(rb"\\d+\\t", line):  # a row may have several lines
            at, line = file.tell(), file.readline()
        file.seek(at)
        while file.tell() < piece[1]:
            held = file.readline()
            while held.count(b'"', 0, 4096) % 2:
                held += file.readline()
            row = held.rstrip(b"\\n").split(b"\\t")
            yield pybase64.b64decode(row[image], validate=True), row[question].decode()
size, cores = os.path.getsize(sys.argv[1]), os.cpu_count()
pieces = [(size * core // cores, size * (core + 1) // cores) for core in range(cores)]
"""
"""The rows of an LMUData TSV, a piece of it for each core."""

FLOOR = f"""{_SHARDS}{_ROWS}
def read(piece):
    for data, question in read_images(piece):
        yield data, hashlib.sha256(data).hexdigest(), question
write_each(read, pieces)
"""
"""What must be done at least with an LMUData TSV: read, split at tabs, decode, hash, write, by a process a core."""

DECODING_FLOOR = f"""
import io, os, sys
import PIL.Image
{_ROWS}
for piece in pieces:
    if not os.fork():
        for data, _ in read_images(piece):
            with PIL.Image.open(io.BytesIO(data)) as image:
                image.load()
        os._exit(0)
assert not any(os.wait()[1] for _ in pieces)
"""
"""What must be done at least to decode its images: read, split, base64, Pillow, by a process a core."""

IMAGES_FLOOR = f"""{_SHARDS}
import json
folder = sys.argv[1]
rows = json.loads(pathlib.Path(folder, "llava.json").read_bytes())
def read(mine):
    for row in mine:
        file = os.open(f"{{folder}}/{{row['image']}}", os.O_RDONLY)
        data = os.read(file, os.fstat(file).st_size)
        os.close(file)
        yield data, hashlib.sha256(data).hexdigest(), row["conversations"][0]["value"]
cores = os.cpu_count()
write_each(read, [rows[len(rows) * core // cores : len(rows) * (core + 1) // cores] for core in range(cores)])
"""
"""What must be done at least with image files: read, hash, write, by a process a core."""

JSON_FLOOR = f"""{_SHARDS}
import orjson, pybase64
def read(piece):
    with open(sys.argv[1], "rb") as file:
        file.seek(max(0, piece[0] - 1))
        if piece[0]:
            file.readline()
        while file.tell() < piece[1]:
            shown, question = orjson.loads(file.readline())["messages"][0]["content"]
            data = pybase64.b64decode(shown["image_url"]["url"].partition(",")[2], validate=True)
            yield data, hashlib.sha256(data).hexdigest(), question["text"]
size, cores = os.path.getsize(sys.argv[1]), os.cpu_count()
write_each(read, [(size * core // cores, size * (core + 1) // cores) for core in range(cores)])
"""
"""What must be done at least with data URLs: read, parse, decode, hash, write, by a process a core."""

DECODING = """
import base64, collections, concurrent.futures, csv, io, os, sys
import PIL.Image
csv.field_size_limit(1 << 30)
def decode(text):
    with PIL.Image.open(io.BytesIO(base64.b64decode(text))) as image:
        image.load()
with open(sys.argv[1], newline="", encoding="utf-8") as file, concurrent.futures.ThreadPoolExecutor() as threads:
    waiting = collections.deque()
    for row in csv.DictReader(file, delimiter="\\t"):
        waiting.append(threads.submit(decode, row["image"]))
        if len(waiting) > 32:
            waiting.popleft().result()
    for one in waiting:
        one.result()
"""
"""Every image of an LMUData TSV by Pillow on all cores, of which nothing is kept."""

LOAD_JSON = """
import datasets, sys
source, out = sys.argv[1:]
datasets.load_dataset("json", data_files=source, cache_dir=out, split="train")
"""
"""JSON Lines by load_dataset("json") alone, which writes Arrow and checks nothing."""

WORKBOOK_RECIPE = """
import datasets, pandas, sys
source, out = sys.argv[1:]
datasets.Dataset.from_pandas(pandas.read_excel(source, dtype=str, keep_default_na=False)).to_parquet(out)
"""
"""A workbook by pandas.read_excel (openpyxl) and Dataset.from_pandas."""
