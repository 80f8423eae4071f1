"""Count real files the plain way, for tests of `mmconvert stats`, `dedupe`, `overlap` and `mix` to compare with.

usage: python scripts/golden_data_work [--real ../shared/real]

Nothing of mmconvert is imported: files are read by `json` and `csv`, images by Pillow, and all pairs are compared in
plain loops. It writes `numbers.json` beside this file; `tests/mmconvert/curation/test_real_files.py` says which command
each number belongs to.
"""

import argparse
import csv
import hashlib
import io
import json
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from PIL import Image

HERE = Path(__file__).resolve().parent
FACTORY, EVALSCOPE = "field/llamafactory/data", "evalscope_custom_eval/custom_eval/multimodal"
FILES = {
    "talks": f"{FACTORY}/mllm_demo.json",
    "talks_again": "training_demos/llamafactory/mllm_demo.json",
    "charts": "field/qwen_vl/demo/single_images.json",
    "alpaca": f"{FACTORY}/alpaca_en_demo.json",
    "identity": f"{FACTORY}/identity.json",
    "v1": f"{FACTORY}/v1_sft_demo.jsonl",
    "tools": f"{FACTORY}/glaive_toolcall_en_demo.json",
    "array": "field/openai_array/messages.json",
    "openai": f"{EVALSCOPE}/vqa/example_openai.jsonl",
    "placeholder": f"{EVALSCOPE}/vqa/example_placeholder.jsonl",
    "choices": f"{EVALSCOPE}/mcq/example.tsv",
}
"""Names of the files below the folder of real files."""
ROOTS = (f"{FACTORY}", "training_demos/llamafactory", "field/qwen_vl", "evalscope_custom_eval")
"""Where paths of images begin."""
STATS = ("talks", "charts", "alpaca", "v1", "openai")
IMAGES, TEXTS = ("talks", "talks_again", "array", "openai", "placeholder", "choices"), ("identity", "alpaca", "v1")
"""Files that are searched for duplicates together."""
OVERLAPS = {"alpaca": ("v1", "identity"), "v1": ("tools", "identity"), "array": ("openai", "choices", "talks")}
"""Training file -> benchmarks."""
MIXTURES: dict[str, dict[str, Any]] = {
    "weights": {"weights": ["1/2", "3/10", None], "samples": 200, "exhausted": "stop"},
    "stop": {"weights": ["1/5", "3/5", "1/5"], "samples": None, "exhausted": "stop"},
    "repeat": {"weights": ["1/3", "1/3", "1/3"], "samples": None, "exhausted": "repeat"},
    "size": {"weights": [None, None, None], "samples": 100, "exhausted": "stop"},
}
MIXED = ("alpaca", "identity", "v1")
SEED = 7
LIKE, LEAST_WORDS = Fraction(7, 10), 8
PLACEHOLDER = re.compile(r"<(?:image|video)(?:[ _]?\d+)?>")
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Sample:
    """One sample as it stands in its file: turns without placeholders, and the bytes of its images."""

    turns: tuple[tuple[str, str], ...]
    images: tuple[bytes, ...] = ()
    answer: str | None = None
    question: str | None = None
    options: tuple[str, ...] = field(default=())


def read_samples(real: Path, name: str) -> list[Sample]:
    """Read a file."""
    path = real / FILES[name]

    def see(names: list[str]) -> tuple[bytes, ...]:
        places = [path.parent, *(real / root for root in ROOTS)]
        return tuple(next((p / one).read_bytes() for p in places if (p / one).is_file()) for one in names)

    if path.suffix == ".tsv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        return [
            Sample(
                (("user", f"{row['question']}{row['options']}"),),
                see([row[key] for key in row if key.startswith("image_") and row[key]]),
                row["answer"],
                row["question"],
                tuple(json.loads(row["options"])),
            )
            for row in rows
        ]
    text = path.read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    return [read_row(row, see) for row in rows]


def read_row(row: dict[str, Any], see: Any) -> Sample:
    """Read a row of one of the forms that the files have."""
    if "instruction" in row:
        asked = "\n".join(filter(None, (row["instruction"], row["input"])))
        return Sample((("user", asked), ("assistant", row["output"])))
    turns, named = [], [*row.get("images", []), *([row["image_1"]] if "image_1" in row else [])]
    named += [row["image"]] if "image" in row else []
    roles = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}
    for turn in row.get("messages") or row["conversations"]:
        content = turn.get("content", turn.get("value"))
        if not isinstance(content, str):
            named += [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
            content = "".join(part.get("text", part.get("value", "")) for part in content)
        role = turn.get("role") or roles[turn["from"]]
        turns.append((role, PLACEHOLDER.sub("", content)))
    return Sample(tuple(turns), see(named), row.get("answer"))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# Statistics


def describe(numbers: list[Any]) -> dict[str, Any]:
    """Count, sum, extremes, and the smallest value that half of all, or 95 of 100, do not exceed."""
    if not numbers:
        return {"count": 0}
    ordered = sorted(numbers)

    def quantile(percent: int) -> Any:
        return next(value for n, value in enumerate(ordered, 1) if 100 * n >= percent * len(ordered))

    return {
        "count": len(ordered),
        "total": sum(ordered),
        "min": ordered[0],
        "median": quantile(50),
        "p95": quantile(95),
        "max": ordered[-1],
    }


def count_repeated(things: list[Any]) -> int:
    return len(things) - len(set(things))


def count_statistics(samples: list[Sample]) -> dict[str, Any]:
    """Count what `mmconvert stats` counts, as far as a file says it by itself."""
    shown = [image for sample in samples for image in sample.images]
    opened = [Image.open(io.BytesIO(image)) for image in shown]
    turns = [turn for sample in samples for turn in sample.turns]
    return {
        "samples": len(samples),
        "images": len(shown),
        "image_bytes": sum(map(len, shown)),
        "images_per_sample": describe([len(sample.images) for sample in samples]),
        "width": describe([image.width for image in opened]),
        "height": describe([image.height for image in opened]),
        "image_formats": Counter(image.format for image in opened),
        "turns_per_sample": describe([len(sample.turns) for sample in samples]),
        "roles": Counter(role for role, _ in turns),
        "characters": {
            "sample": describe([sum(len(text) for _, text in sample.turns) for sample in samples]),
            "user turn": describe([len(text) for role, text in turns if role == "user"]),
        },
        "images_repeated": count_repeated([digest(image) for image in shown]),
        "samples_repeated": count_repeated([(s.turns, tuple(map(digest, s.images))) for s in samples]),
        "answers": sum(bool(sample.answer) for sample in samples),
    }


# Texts


def list_words(text: str) -> list[str]:
    """Words, numbers and arithmetic signs, without case; each sign of Chinese and Japanese is a word."""
    found: list[str] = []
    text = unicodedata.normalize("NFKC", text).casefold()
    for match in re.finditer(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[+<>=*/^%°±×÷√∑∫≤≥≠≈$€£¥]|[-−–]", text):
        word = match.group()
        if word in "-−–":
            after, before = text[match.end() :].lstrip(), text[: match.start()].rstrip()
            is_sign = bool(re.match(r"\d", text[match.end() :])) if word != "–" else False
            if is_sign or (before[-1:].isdigit() and after[:1].isdigit()):
                found.append(word)
        elif re.search(r"[\u3040-\u30ff\u3400-\u9fff]", word):
            found += re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\u3040-\u30ff\u3400-\u9fff]+", word)
        else:
            found.append(word)
    return found


def normalise(text: str) -> str:
    """The text's words; spaces between letters do not count."""
    return re.sub(r"(?<=[^\W\d]) (?=[^\W\d])", "", " ".join(list_words(text)))


def list_features(text: str) -> frozenset[Any]:
    words = list_words(text)
    return frozenset([*words, *pairwise(words)])


def are_near(one: frozenset[Any], other: frozenset[Any]) -> bool:
    """Jaccard index of at least 0.7."""
    return bool(one or other) and Fraction(len(one & other), len(one | other)) >= LIKE


# Duplicates


def find_duplicates(samples: list[Sample], by: str, *, near: bool = False) -> list[list[int]]:
    """Groups of places of samples that are duplicates, the first in front.

    Near ones are those with near texts, and what is near to these; images are compared by their bytes.
    """
    texts = ["\n".join(text for _, text in sample.turns) for sample in samples]
    words, features = [normalise(text) for text in texts], [list_features(text) for text in texts]
    group = list(range(len(samples)))

    def find(place: int) -> int:
        while group[place] != place:
            place = group[place]
        return place

    for place, sample in enumerate(samples):
        for earlier in range(place):
            other = samples[earlier]
            same = words[place] == words[earlier] or (near and are_near(features[place], features[earlier]))
            same &= sample.answer == other.answer
            shown = [*map(digest, sample.images)] == [*map(digest, other.images)]
            if {"text": same, "image": shown and bool(sample.images), "both": same and shown}[by]:
                one, two = find(place), find(earlier)
                group[max(one, two)] = min(one, two)
    found: dict[int, list[int]] = {}
    for place in range(len(samples)):
        found.setdefault(find(place), []).append(place)
    return [places for places in found.values() if len(places) > 1]


# Overlap


def list_questions(sample: Sample) -> list[str]:
    """The question, else every turn of the user; and each line of eight words and more, where there are several."""
    asked = [sample.question] if sample.question else [text for role, text in sample.turns if role == "user"]
    found = []
    for text in (PLACEHOLDER.sub(" ", one) for one in asked):
        lines = text.splitlines()
        found += [text, *(line for line in lines if len(lines) > 1 and len(line.split()) >= LEAST_WORDS)]
    return found


def find_overlap(train: list[Sample], bench: list[Sample]) -> list[tuple[int, int, str]]:
    """Pairs of places (benchmark, training file) and how they are alike: image, text or near text."""
    asked = [[(normalise(text), list_features(text)) for text in list_questions(sample)] for sample in bench]
    known = [[(normalise(text), list_features(text)) for text in list_questions(sample)] for sample in train]
    long = {normalise(text): len(list_words(text)) >= LEAST_WORDS for one in bench for text in list_questions(one)}
    # A question about several images, or with near ones about others, tells nothing; nor a line below several ones.
    shown: dict[str, set[tuple[bytes, ...]]] = {}
    first: dict[str, set[str]] = {}
    features: dict[str, frozenset[Any]] = {}
    for sample, texts in zip(bench, asked, strict=True):
        for text, held in texts:
            shown.setdefault(text, set()).add(sample.images)
            first.setdefault(text, set()).add(texts[0][0])
            features[text] = held
    tells = {text: long[text] and len(shown[text]) == 1 and len(first[text]) == 1 for text in shown}
    for text in tells:
        tells[text] &= all(
            shown[text] == shown[other] or not are_near(features[text], features[other]) for other in shown
        )
    found = []
    for row, sample in enumerate(bench):
        for place, other in enumerate(train):
            seen = {*map(digest, sample.images)} & {*map(digest, other.images)}
            pairs = [(one, two) for one in asked[row] for two in known[place] if one[0] and (seen or tells[one[0]])]
            if seen:
                found.append((row, place, "image"))
            if any(one[0] == two[0] for one, two in pairs):
                found.append((row, place, "text"))
            elif any(are_near(one[1], two[1]) for one, two in pairs):
                found.append((row, place, "near text"))
    return found


# Near images

CHANGES = ("half", "recoded", "cut")
PLANTED = ("talks", "charts", "openai")
"""Files whose images are altered and planted in a training file."""


def list_pictures(real: Path) -> list[bytes]:
    """List the images of some files, each once."""
    return list(dict.fromkeys(i for name in PLANTED for sample in read_samples(real, name) for i in sample.images))


def alter(data: bytes, change: str) -> bytes:
    """Scale an image to half its sides, encode it again, or cut 5 % off each side."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    width, height = image.size
    if change == "half":
        image = image.resize((width // 2, height // 2))
    if change == "cut":
        image = image.crop((width // 20, height // 20, width - width // 20, height - height // 20))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=60)
    return out.getvalue()


def plant_images(real: Path, folder: Path) -> None:
    """Write `bench.jsonl`, a row an image, and `train.jsonl` with all altered copies, with their images beside."""
    rows: dict[str, list[dict[str, str]]] = {"bench": [], "train": []}
    for number, data in enumerate(list_pictures(real)):
        copies = {f"{number}": data, **{f"{number} {change}": alter(data, change) for change in CHANGES}}
        for name, image in copies.items():
            (folder / name).write_bytes(image)
            row = {"id": name, "image": name, "question": "What is this?", "answer": "yes"}
            rows["bench" if name == f"{number}" else "train"].append(row)
    for name, some in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some), "utf-8")


# Mixtures


def scramble(value: int) -> int:
    """The end of SplitMix64."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def hash_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def divide(total: int, shares: list[Fraction]) -> list[int]:
    """Whole parts first, the rest to the largest fractions."""
    exact = [total * share for share in shares]
    counts = [int(one) for one in exact]
    order = sorted(range(len(shares)), key=lambda n: counts[n] - exact[n])
    for number in order[: total - sum(counts)]:
        counts[number] += 1
    return counts


def mix(sizes: list[int], plan: dict[str, Any]) -> dict[str, Any]:
    """Count what is taken of each source, and name the rows in order: place of the source and of its row."""
    weights = [None if one is None else Fraction(one) for one in plan["weights"]]
    rest = 1 - sum((one for one in weights if one is not None), Fraction(0))
    unweighted = sum(size for size, one in zip(sizes, weights, strict=True) if one is None)
    shares = [one if one is not None else rest * size / unweighted for size, one in zip(sizes, weights, strict=True)]
    lengths = [size / share for size, share in zip(sizes, shares, strict=True)]
    if plan["exhausted"] == "repeat":
        total = plan["samples"] or -int(-max(lengths) // 1)
    else:
        total = min(int(min(lengths)), plan["samples"] or MASK)
    taken = divide(total, shares)
    ordered = []
    for source, (name, size, count) in enumerate(zip(MIXED, sizes, taken, strict=True)):
        start = hash_text(f"{SEED} {name}")
        rows = sorted((scramble(hash_text(f"{row:09d}") ^ start), row) for row in range(size))
        for place in range(count):
            (key, row), number = rows[place % size], place // size
            ordered.append((scramble((scramble(key) + number) & MASK), source, row))
    return {"taken": taken, "rows": [[source, row] for _, source, row in sorted(ordered)]}


def count_all(real: Path) -> dict[str, Any]:
    """Count everything."""
    samples = {name: read_samples(real, name) for name in FILES}
    images = [sample for name in IMAGES for sample in samples[name]]
    texts = [sample for name in TEXTS for sample in samples[name]]
    return {
        "stats": {name: count_statistics(samples[name]) for name in STATS},
        "dedupe": {
            **{f"images by {by}": find_duplicates(images, by) for by in ("image", "text", "both")},
            **{f"texts by {by}": find_duplicates(texts, by) for by in ("text", "both")},
            "texts near by text": find_duplicates(texts, "text", near=True),
        },
        "overlap": {
            f"{train} with {name}": find_overlap(samples[train], samples[name])
            for train, names in OVERLAPS.items()
            for name in names
        },
        "planted": [[f"{n}", f"{n} {change}"] for n in range(len(list_pictures(real))) for change in CHANGES],
        "mix": {name: mix([len(samples[one]) for one in MIXED], plan) for name, plan in MIXTURES.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Count real files the plain way.")
    parser.add_argument("--real", type=Path, default=HERE.parents[2] / "shared" / "real")
    found = count_all(parser.parse_args().real)
    (HERE / "numbers.json").write_text(json.dumps(found, separators=(",", ":"), sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
