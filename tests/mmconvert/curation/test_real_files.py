"""Data work on real files gives the numbers that `scripts/golden_data_work` counts without mmconvert."""

import importlib.util
import json
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

import mmconvert
from mmconvert.dataset.dataset import open_dataset

FOLDER = Path(__file__).resolve().parents[3] / "scripts" / "golden_data_work"
NUMBERS = json.loads((FOLDER / "numbers.json").read_text("utf-8"))


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("golden_data_work", FOLDER / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = load_script()


@pytest.fixture(scope="module")
def real(shared: Path) -> Path:
    return shared / "real"


def convert(real: Path, output: Path, names: Iterable[str]) -> Path:
    roots = [real / root for root in SCRIPT.ROOTS]
    mmconvert.convert([real / SCRIPT.FILES[name] for name in names], output, image_root=roots, split="train")
    return output


@pytest.fixture(scope="module")
def datasets(real: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of each file."""
    folder = tmp_path_factory.mktemp("real")
    for name in SCRIPT.FILES:
        convert(real, folder / name, [name])
    return folder


@pytest.mark.slow
@pytest.mark.release
def test_the_script_still_counts_these_numbers(real: Path) -> None:
    assert json.loads(json.dumps(SCRIPT.count_all(real))) == NUMBERS


@pytest.mark.parametrize("name", SCRIPT.STATS)
def test_statistics(name: str, datasets: Path) -> None:
    found = mmconvert.stats(datasets / name)
    expected = NUMBERS["stats"][name]

    def take(spread: Any, like: dict[str, Any]) -> dict[str, Any]:
        described = msgspec.to_builtins(spread)
        return {key: described[key] for key in like}

    for key in ("samples", "images", "image_bytes", "image_formats", "roles"):
        assert getattr(found, key) == expected[key], key
    for key in ("images_per_sample", "width", "height", "turns_per_sample"):
        assert take(getattr(found, key), expected[key]) == expected[key], key
    for key, spread in expected["characters"].items():
        assert take(found.characters[key], spread) == spread, key
    assert found.repeats["image"].repeated == expected["images_repeated"]
    assert found.repeats["sample"].repeated == expected["samples_repeated"]
    assert found.fields["answer"].filled == expected["answers"]


@pytest.fixture(scope="module")
def gathered(real: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A dataset of all files with images, and one of all texts."""
    folder = tmp_path_factory.mktemp("gathered")
    return {
        what: convert(real, folder / what, names)
        for what, names in (("images", SCRIPT.IMAGES), ("texts", SCRIPT.TEXTS))
    }


@pytest.mark.parametrize("case", NUMBERS["dedupe"])
def test_duplicates(case: str, gathered: dict[str, Path], tmp_path: Path) -> None:
    what, *near, _, by = case.split()
    path = gathered[what]
    for kept in path.rglob("fingerprints-*.parquet"):
        kept.unlink()
    places = {record.id: place for place, record in enumerate(open_dataset(path).records())}
    done = mmconvert.dedupe(path, tmp_path / "out", by=by, near=bool(near))
    groups = [[places[one["id"]] for one in (group["kept"], *group["removed"])] for group in done.groups]
    assert groups == NUMBERS["dedupe"][case]
    assert done.rows_kept == len(places) - sum(len(group) - 1 for group in groups)


@pytest.mark.parametrize("case", NUMBERS["overlap"])
def test_overlap(case: str, datasets: Path) -> None:
    train, bench = (datasets / name for name in case.split(" with "))
    found = mmconvert.overlap(train, bench)
    pairs = [[*pair.rows, pair.way] for pair in found.pairs]
    assert sorted(pairs) == sorted(NUMBERS["overlap"][case])
    assert found.benchmarks[bench.name].found == len({row for row, _, _ in pairs})


def test_altered_images_are_found_and_no_others(real: Path, tmp_path: Path) -> None:
    SCRIPT.plant_images(real, tmp_path)
    for name in ("bench", "train"):
        mmconvert.convert(tmp_path / f"{name}.jsonl", tmp_path / name, image_root=tmp_path)
    found = mmconvert.overlap(tmp_path / "train", tmp_path / "bench")
    assert [[pair.id, pair.train_id] for pair in found.pairs if pair.way == "near image"] == NUMBERS["planted"]
    assert len(found.pairs) == 2 * len(NUMBERS["planted"])  # each pair has its question in common, too
    assert found.benchmarks["bench"].both == 10


@pytest.mark.parametrize("case", SCRIPT.MIXTURES)
def test_mixtures(case: str, datasets: Path, tmp_path: Path) -> None:
    plan, expected = SCRIPT.MIXTURES[case], NUMBERS["mix"][case]
    weights = ["" if weight is None else f":{float(SCRIPT.Fraction(weight))}" for weight in plan["weights"]]
    sources = [f"{datasets / name}{weight}" for name, weight in zip(SCRIPT.MIXED, weights, strict=True)]
    how = {"samples": plan["samples"], "exhausted": plan["exhausted"], "seed": SCRIPT.SEED}
    done = mmconvert.mix(sources, tmp_path / "out", **how)
    assert [source.taken for source in done.sources] == expected["taken"]
    names = (record.id.partition("#")[0].rpartition("-") for record in open_dataset(tmp_path / "out").records())
    assert [[SCRIPT.MIXED.index(source), int(row)] for source, _, row in names] == expected["rows"]
