"""How many altered images and questions of a benchmark are found in a training set, and how many are named falsely."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import PIL.Image

import mmconvert
from mmconvert.curation.overlap import Overlap
from support.planted_leaks import CHANGES, KINDS, REWORDINGS, Picture, draw_size, encode, invent_words, write_rows

REPORTED_SEED = 31
"""Seed of the figures that docs/overlap.md reports; thresholds were chosen on seeds 1 to 3."""
_KIND_OF_FILE = ("*.jpg", "*.jpeg", "*.png")


Samples = Sequence[tuple[str, bytes | None, str]]


@dataclass(frozen=True)
class Rates:
    """Shares from 0 to 1.

    Attributes:
        found: Kind and change -> share of the samples that are found again.
        false: Kind -> share of a benchmark's samples that are named for another sample, or where none was planted.
        counts: Kind -> samples of it.
    """

    found: dict[tuple[str, str], float]
    false: dict[str, float]
    counts: Counter[str]


def draw_pictures(count: int, seed: int) -> dict[str, list[Picture]]:
    """Draw pictures, a third of each kind."""
    found = {}
    for place, (kind, draw) in enumerate(KINDS.items()):
        draws = random.Random(f"{seed} {kind}")
        found[kind] = [draw(draws, draw_size(draws)) for _ in range(place, count, len(KINDS))]
    return found


def read_pictures(folder: Path) -> list[Picture]:
    """Read the images below a folder, each once."""
    files = {file.read_bytes(): file for kind in _KIND_OF_FILE for file in sorted(folder.rglob(kind))}
    return [PIL.Image.open(file).convert("RGB") for file in files.values()]


def _compare(folder: Path, name: str, bench: Samples, train: Samples) -> Overlap:
    for part, rows in (("bench", bench), ("train", train)):
        file = write_rows(folder, f"{name}-{part}", rows)
        mmconvert.convert(file, folder / f"{name}-{part}-set", image_root=folder / "images")
    return mmconvert.overlap(folder / f"{name}-train-set", folder / f"{name}-bench-set")


def measure_images(pictures: Mapping[str, Sequence[Picture]], seed: int, folder: Path) -> Rates:
    """Plant each altered picture in a training set of its own change, beside all kinds' pictures of another seed.

    Of each kind only the first half is planted: the second half of the benchmark has nothing to be found.
    """
    strangers = draw_pictures(sum(map(len, pictures.values())), seed + 1_000_000)
    noise = [(f"other {kind} {n}", encode(one), "") for kind, group in strangers.items() for n, one in enumerate(group)]
    bench = [(f"{kind}|{n}", encode(one, "PNG"), "") for kind, group in pictures.items() for n, one in enumerate(group)]
    found: dict[tuple[str, str], float] = {}
    wrong: dict[str, set[str]] = {kind: set() for kind in pictures}
    for number, (change, alter) in enumerate(CHANGES.items()):
        planted = {
            f"{kind}|{n}": alter(one)
            for kind, group in pictures.items()
            for n, one in enumerate(group[: (len(group) + 1) // 2])
        }
        train = [*((key, image, "") for key, image in planted.items()), *(noise if number == 0 else ())]
        pairs = _compare(folder, f"c{number}", bench, train).pairs
        named = {(pair.id, pair.train_id) for pair in pairs}
        for kind in pictures:
            own = [key for key in planted if key.startswith(f"{kind}|")]
            found[kind, change] = sum((key, key) in named for key in own) / len(own)
        for asked, trained in named:
            if asked != trained:
                wrong[asked.partition("|")[0]].add(asked)
    counts = Counter({kind: len(group) for kind, group in pictures.items()})
    return Rates(found, {kind: len(wrong[kind]) / counts[kind] for kind in pictures}, counts)


def measure_texts(count: int, seed: int, folder: Path) -> Rates:
    """Plant each question in other words, without its image, beside as many questions of the same vocabulary."""
    draws = random.Random(f"{seed} questions")
    vocabulary = invent_words(draws, 500)
    asked = [draws.choices(vocabulary, k=12) for _ in range(count)]
    others = [draws.choices(vocabulary, k=12) for _ in range(count)]
    bench = [(str(n), None, " ".join(words)) for n, words in enumerate(asked)]
    noise = [(f"other {n}", None, " ".join(words)) for n, words in enumerate(others)]
    found: dict[tuple[str, str], float] = {}
    wrong: set[str] = set()
    for number, (change, reword) in enumerate(REWORDINGS.items()):
        planted = [(str(n), None, reword(draws, words)) for n, words in enumerate(asked[: (count + 1) // 2])]
        named = {(pair.id, pair.train_id) for pair in _compare(folder, f"t{number}", bench, [*planted, *noise]).pairs}
        found["question", change] = sum((key, key) in named for key, _, _ in planted) / len(planted)
        wrong |= {one for one, other in named if one != other}
    return Rates(found, {"question": len(wrong) / count}, Counter(question=count))


def format_images(rates: Rates) -> str:
    """Write the table of images."""
    kinds = list(rates.counts)
    lines = [f"| images found when | {' | '.join(kinds)} |", f"| --- {'| --- ' * len(kinds)}|"]
    lines += [
        f"| {change} | {' | '.join(f'{100 * rates.found[k, change]:.1f} %' for k in kinds)} |" for change in CHANGES
    ]
    lines.append(f"| named falsely | {' | '.join(f'{100 * rates.false[kind]:.2f} %' for kind in kinds)} |")
    return "\n".join([*lines, f"\nImages: {', '.join(f'{kind} {count:,}' for kind, count in rates.counts.items())}."])


def format_texts(rates: Rates) -> str:
    """Write the table of questions."""
    lines = ["| questions of twelve words, found with | share |", "| --- | --- |"]
    lines += [f"| {change} | {100 * share:.1f} % |" for (_, change), share in rates.found.items()]
    return "\n".join([*lines, f"| named falsely | {100 * rates.false['question']:.2f} % |"])
