"""Statistics of a dataset equal those of a slow script that reads every record."""

import io
import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from PIL import Image as PILImage

import mmconvert
from mmconvert.cli import program
from mmconvert.core.record import LETTERS, Image, Part, Record, Source, Turn, list_turns
from mmconvert.curation import tallies
from mmconvert.dataset.dataset import DatasetWriter
from mmconvert.images.loader import ImageLoader
from support.hub_repo import Blob, Repo
from support.records import image_bytes

REAL = (
    "field/llamafactory/data/mllm_demo.json",
    "field/llamafactory/data/alpaca_en_demo.json",
    "field/llamafactory/data/rlhf_v.json",
    "field/llamafactory/data/glaive_toolcall_en_demo.json",
    "evalscope_custom_eval/custom_eval/multimodal/mcq/example.tsv",
    "evalscope_custom_eval/custom_eval/multimodal/vqa/example_openai.jsonl",
)
SHARES = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p95": 95, "p99": 99}
SCRIPTS = {"LATIN": "Latin", "CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana", "HANGUL": "Hangul", "GREEK": "Greek",
           "CYRILLIC": "Cyrillic", "ARABIC": "Arabic", "DEVANAGARI": "Devanagari"}  # fmt: skip


def spread(numbers: list[float]) -> dict[str, float]:
    """Quantiles by sorting: the smallest value that so many of a hundred do not exceed."""
    if not numbers:
        return dict.fromkeys(["count", "total", "min", *SHARES, "max", "mean"], 0)
    ordered = sorted(numbers)
    found: dict[str, float] = {"count": len(numbers), "total": sum(numbers), "min": ordered[0], "max": ordered[-1]}
    for name, percent in SHARES.items():
        found[name] = next(value for n, value in enumerate(ordered, 1) if n * 100 >= percent * len(ordered))
    return found | {"mean": sum(numbers) / len(numbers)}


def without_bins(found: tallies.Spread) -> dict[str, Any]:
    assert sum(one.count for one in found.bins) == found.count
    return {name: value for name, value in msgspec.to_builtins(found).items() if name != "bins"}


def near(numbers: dict[str, float]) -> Any:
    return pytest.approx(numbers, rel=1e-12)


def name_script(character: str) -> str | None:
    """By the first word of its name; letters and the marks on them alone."""
    is_letter = unicodedata.category(character)[0] in "LM"
    return SCRIPTS.get(unicodedata.name(character, "").split()[0]) if is_letter else None


def say(turn: Turn) -> str:
    return "".join(part.text for part in turn.content)


def count_repeats(things: list[Any], splits: list[str]) -> dict[str, int]:
    seen: dict[Any, set[str]] = {}
    for thing, split in zip(things, splits, strict=True):
        seen.setdefault(thing, set()).add(split)
    several = sum(len(found) > 1 for found in seen.values())
    return {
        "count": len(things),
        "distinct": len(seen),
        "repeated": len(things) - len(seen),
        "in_several_splits": several,
    }


def require_equal(found: mmconvert.DatasetStatistics, path: Path) -> None:
    """Compare with what plain loops over the records give."""
    opened = mmconvert.open_dataset(path)
    rows = [(split, record) for split in opened.splits for record in opened.records(split)]
    records = [record for _, record in rows]
    images = [(split, image) for split, record in rows for image in record.images]
    assert (found.samples, found.images) == (len(records), len(images))
    assert found.image_bytes == sum(len(image.bytes or b"") for _, image in images)
    assert {name: one.samples for name, one in found.splits.items()} == opened.splits
    for split, one in found.splits.items():
        own = [image for name, image in images if name == split]
        assert (one.images, one.image_bytes) == (len(own), sum(len(image.bytes or b"") for image in own))
    known = [image for _, image in images if image.bytes is not None]
    measured = {
        "images_per_sample": [len(record.images) for record in records],
        "turns_per_sample": [len(list_turns(record)) for record in records],
        "width": [image.width for image in known],
        "height": [image.height for image in known],
        "longer_side": [max(image.width, image.height) for image in known],
        "aspect_ratio": [image.width / image.height for image in known],
    }
    for name, numbers in measured.items():
        assert without_bins(getattr(found, name)) == near(spread(numbers)), name
    turns = [turn for record in records for turn in list_turns(record)]
    assert found.roles == Counter(turn.role for turn in turns)
    assert found.image_formats == Counter(image.format for image in known)
    lengths = {"sample": [sum(len(say(turn)) for turn in list_turns(record)) for record in records]}
    lengths["answer"] = [len(record.answer) for record in records if record.answer]
    for turn in turns:
        lengths.setdefault(f"{turn.role} turn", []).append(len(say(turn)))
    assert {name: without_bins(one) for name, one in found.characters.items()} == {
        name: near(spread(numbers)) for name, numbers in lengths.items() if numbers
    }
    require_equal_writing(found, records)
    require_equal_columns(found, records)
    splits = [split for split, _ in rows]
    asked = [(split, record.question) for split, record in rows if record.question]
    repeats = {
        "id": count_repeats([record.id for record in records], splits),
        "question": count_repeats([text for _, text in asked], [split for split, _ in asked]),
        "image": count_repeats([i.sha256 for _, i in images if i.bytes], [split for split, i in images if i.bytes]),
        "sample": count_repeats([(r.messages, r.preference and (r.preference.chosen, r.preference.rejected),
                                  *((i.sha256, i.url) for i in r.images)) for r in records], splits),
    }  # fmt: skip
    assert {name: msgspec.to_builtins(one) for name, one in found.repeats.items()} == {
        name: {**one, "estimated": False} for name, one in repeats.items()
    }


def require_equal_writing(found: mmconvert.DatasetStatistics, records: list[Record]) -> None:
    letters, samples, mostly = Counter[str](), Counter[str](), Counter[str]()
    for record in records:
        own = Counter(filter(None, map(name_script, "".join(map(say, list_turns(record))))))
        letters.update(own)
        samples.update(own.keys())
        mostly.update([name for name, _ in own.most_common(1)])
    assert {name: (one.letters, one.samples, one.samples_mostly) for name, one in found.writing_systems.items()} == {
        name: (letters[name], samples[name], mostly[name]) for name in letters
    }


def require_equal_columns(found: mmconvert.DatasetStatistics, records: list[Record]) -> None:
    filled = {
        name: sum(bool(getattr(record, name)) for record in records) for name in found.fields if name != "solution"
    }
    assert {name: (one.filled, one.missing) for name, one in found.fields.items() if name in filled} == {
        name: (count, len(records) - count) for name, count in filled.items()
    }
    for name, values in found.values.items():
        given = [record.source.format if name == "source_format" else getattr(record, name) for record in records]
        assert values == Counter(filter(None, given)), name
    choices = [r for r in records if r.task == "multiple_choice" and r.answer and set(r.answer) <= set(LETTERS)]
    picked = Counter(letter for record in choices for letter in record.answer or "")
    for place, letter in enumerate(found.answer_letters):
        one = found.answer_letters[letter]
        even = sum(1 / len(record.options) for record in choices if len(record.options) > place) / len(choices)
        assert (one.count, one.share, one.even_share) == pytest.approx(
            (picked[letter], picked[letter] / picked.total(), even)
        )
    assert set(picked) <= set(found.answer_letters)
    assert found.yes_no_answers == Counter(r.answer for r in records if r.task == "yes_no" and r.answer)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("view", ["eval", "sft"])
def test_real_files_have_the_counts_of_a_slow_script(shared, tmp_path, name, view):
    source = shared / "real" / name
    mmconvert.convert(
        source, tmp_path / "set", view=view, image_root=[source.parent, shared / "real/evalscope_custom_eval"]
    )
    require_equal(mmconvert.stats(tmp_path / "set"), tmp_path / "set")


def shown(colour: int, kind: str = "PNG", size: tuple[int, int] = (3, 2)) -> Image:
    return ImageLoader(()).of_bytes(image_bytes(kind, colour, size), 1)


def record(number: int, text: str, *images: Image, role: str = "user", **more: Any) -> Record:
    parts = (*(Part("image") for _ in images), Part("text", text))
    turns = (Turn(role, parts),)
    return Record(
        str(number), str(number), turns, more.pop("task", "vqa"), Source("f", "f", number), images=images, **more
    )


def write(path: Path, **splits: list[Record]) -> Path:
    with DatasetWriter(path) as writer:
        for split, records in splits.items():
            writer.write(records, split)
    return path


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Two splits that share an image and a sample, several writing systems, choices, a URL."""
    texts = ["Which? 12", "это кот", "これは猫です", "这是猫。", "고양이", "हाथी", "قطة", "naïve Ωmega", "", "😀 only"]
    train = [record(n, text, *[shown(n % 3)] * (n % 3)) for n, text in enumerate(texts)]
    train += [
        record(20, "Which? 12", shown(1, "JPEG", (9, 4)), task="multiple_choice", options=("a", "b", None), answer="AC")
    ]
    train += [record(21, "Is it?", task="yes_no", answer="yes"), record(22, "Is it?", task="yes_no", answer="No")]
    url = Image(None, 1, url="https://example.org/a.png")
    test = [record(1, "Which?", shown(1, "JPEG", (9, 4))), train[1], record(30, "x", url, role="narrator")]
    test += [record(31, "ab", task="multiple_choice", options=("a", "b"), answer="B", category="c", extra={"k": 1})]
    return write(tmp_path / "mixed", train=train, test=test)


def test_splits_writing_systems_and_urls_have_the_counts_of_a_slow_script(mixed):
    found = mmconvert.stats(mixed)
    unknown = found.characters.pop("other turn")
    found.characters["narrator turn"] = unknown
    require_equal(found, mixed)
    assert found.images_without_bytes == 1
    assert found.repeats["image"].in_several_splits == 2
    assert found.repeats["sample"].in_several_splits == 1
    assert {"Latin", "Cyrillic", "Kana", "Han", "Hangul", "Devanagari", "Arabic", "Greek"} == set(found.writing_systems)


def test_the_same_words_in_other_turns_are_another_sample(tmp_path):
    one = Turn("user", (Part("text", "ab"),))
    talks = [(one,), (Turn("user", (Part("text", "a"),)), Turn("user", (Part("text", "b"),)))]
    talks += [(Turn("system", one.content),), (Turn("user", (Part("text", "a"), Part("text", "b"))),), (one,)]
    path = write(tmp_path / "d", test=[Record(str(n), "s", t, "vqa", Source("f", "f", n)) for n, t in enumerate(talks)])
    assert mmconvert.stats(path).repeats["sample"] == tallies.Repeats(5, 4, 1, 0)


def test_workers_and_one_split(mixed, monkeypatch):
    monkeypatch.setattr("mmconvert.curation.stats._PART_ROWS", 1)
    alone = mmconvert.stats(mixed, workers=1)
    assert mmconvert.stats(mixed, workers=3) == alone
    part = mmconvert.stats(mixed, split="test")
    assert part.splits == {"test": alone.splits["test"]}
    assert part.samples == 4


@pytest.mark.slow
@pytest.mark.release
def test_ray_gives_the_same(mixed):
    pytest.importorskip("ray")
    assert mmconvert.stats(mixed, engine="ray") == mmconvert.stats(mixed)


def test_layouts_for_training_and_predictions_are_counted(mixed, tmp_path):
    for view in ("sft", "prompt-completion", "prompt"):
        mmconvert.convert(mixed, tmp_path / view, view=view)
    words = mmconvert.stats(tmp_path / "sft").characters["sample"]
    assert mmconvert.stats(tmp_path / "prompt-completion").characters["sample"] == words
    assert mmconvert.stats(tmp_path / "prompt").fields["solution"].filled == 4
    table = pq.read_table(sorted((mixed / "data").glob("train*.parquet"))[0])
    pq.write_table(table.drop_columns(["images", "image_info", "attachments"]), tmp_path / "p.parquet")
    assert (mmconvert.stats(tmp_path / "p.parquet").samples, mmconvert.stats(tmp_path / "p.parquet").images) == (13, 0)


def test_keys_beyond_the_limit_are_a_sample_that_hangs_on_no_order(monkeypatch):
    monkeypatch.setattr(tallies, "MOST_KEYS", 1000)
    import numpy as np

    every = np.random.default_rng(1).integers(0, 1 << 63, 20_000).astype(np.uint64)
    every = np.concatenate([every, every[:5_000]])
    forward, backward = tallies.Keys(), tallies.Keys()
    for part in np.array_split(every, 7):
        forward.add("a", part)
    for part in reversed(np.array_split(every, 13)):
        other = tallies.Keys()
        other.add("a", part)
        backward.merge(other)
    found = forward.describe()
    assert found == backward.describe()
    assert (found.estimated, found.count) == (True, 25_000)
    assert found.distinct == pytest.approx(20_000, abs=3_000)
    assert found.repeated == pytest.approx(5_000, abs=1_500)


def test_a_column_with_too_many_values_is_given_up(monkeypatch):
    monkeypatch.setattr(tallies, "MOST_VALUES", 2)
    one, other = tallies.Values(), tallies.Values()
    one.add({"a": 1, "b": 1})
    other.add({"c": 1})
    one.merge(other)
    one.add({"d": 1})
    assert one.list_sorted() == {}


def test_wrong_names_and_files_are_said(mixed, tmp_path):
    with pytest.raises(mmconvert.UsageError, match=r"no split 'tets'. Did you mean test\?"):
        mmconvert.stats(mixed, split="tets")
    with pytest.raises(mmconvert.UsageError, match=r"Add processor=ID"):
        mmconvert.stats(mixed, context=9)
    with pytest.raises(mmconvert.UsageError, match=r"Use the extension: .*page\.html"):
        mmconvert.stats(mixed, html=tmp_path / "page.txt")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(mmconvert.Error, match="is not a dataset created by mmconvert, it lacks the columns id, "):
        mmconvert.stats(tmp_path / "other.parquet")


def test_damage_is_an_error_with_the_file(mixed):
    file = sorted((mixed / "data").glob("train*.parquet"))[0]
    data = bytearray(file.read_bytes())
    found = [match.start() for match in re.finditer(rb"\x28\xb5\x2f\xfd", bytes(data))]
    for start in found:
        data[start : start + 8] = b"\0" * 8
    file.write_bytes(bytes(data))
    with pytest.raises(mmconvert.Error, match=re.escape(str(file))):
        mmconvert.stats(mixed)


def test_the_command_prints_a_table_or_json_and_writes_a_page(mixed, tmp_path):
    page = tmp_path / "page.html"
    run = CliRunner().invoke(program, ["stats", str(mixed), "--html", str(page)])
    assert run.exit_code == 0
    assert re.search(r"multiple choice\n  letter +answers +share +even share\n  A +1 +33.3 % +41.7 %\n", run.output)
    assert f"Open it in a browser: {page.as_uri()}" in run.output
    asked = CliRunner().invoke(program, ["stats", str(mixed), "--json"])
    assert json.loads(asked.stdout) == json.loads(json.dumps(mmconvert.stats(mixed).to_json()))
    assert "1 images are URLs without bytes" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_dataset_on_the_hub_is_counted_without_its_images(hub, tmp_path):
    noise = random.Random(0)
    images = [ImageLoader(()).of_bytes(draw_noise(noise), 1) for _ in range(12)]
    path = write(tmp_path / "set", train=[record(n, f"Which? {n}", one) for n, one in enumerate(images)])
    repo = hub.repos["datasets/user/set"] = Repo("user/set")
    files = {file.relative_to(path).as_posix(): Blob(file.read_bytes(), lfs=True) for file in path.rglob("*.parquet")}
    files |= {name: Blob((path / name).read_bytes(), lfs=False) for name in ("README.md", ".mmconvert/manifest.json")}
    repo.commit("main", files, "as it stands")
    command = [sys.executable, "-m", "mmconvert", "stats", "user/set", "--json", "--workers", "2"]
    offline = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
    environment = {name: text for name, text in os.environ.items() if name not in offline}
    environment |= hub.environment(tmp_path / "home")
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert {**found, "dataset": ""} == {**json.loads(json.dumps(mmconvert.stats(path).to_json())), "dataset": ""}
    assert hub.served < found["image_bytes"] / 2


def draw_noise(noise: random.Random) -> bytes:
    """An image that packs badly: half a megabyte."""
    out = io.BytesIO()
    PILImage.frombytes("RGB", (480, 400), noise.randbytes(480 * 400 * 3)).save(out, "PNG")
    return out.getvalue()
