"""Splits: no image on two sides, the same for any order of rows and when rows are added, with bytes as they were."""

import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import mmconvert
from mmconvert.cli import program
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Image, Record, Turn
from mmconvert.curation.ratios import parse_ratios
from mmconvert.dataset.shards import ShardWriter
from support.datasets_on_disk import make_image, record, write_dataset

_RATIO = "train=0.5,val=0.3,test=0.2"


def _show(shade: int) -> Image:
    data = make_image(shade)
    return Image(data, 1, format="PNG", width=3, height=2, sha256=sha256(data).hexdigest())


def _build(number: int, shades: Sequence[int], sample: int | None = None, group: int | None = None) -> Record:
    return replace(
        record(number),
        id=f"r{number}",
        sample=f"s{number if sample is None else sample}",
        group=None if group is None else f"g{group}",
        images=tuple(map(_show, shades)),
        messages=(Turn("user", ()),),
    )


def _list_facts(one: Record) -> dict[str, set[str]]:
    images = {image.sha256 or str(image.url) for image in (*one.images, *one.attachments)}
    return {"image": images, "group": {one.group} if one.group else set(), "sample": {one.sample}}


def _split(records: Sequence[Record], folder: Path, **options: Any) -> dict[str, str]:
    """Split records and say which split each id went to."""
    write_dataset(folder / "in", {"train": records})
    mmconvert.split(folder / "in", folder / "out", **{"split_ratio": _RATIO, "overwrite": True, **options})
    opened = mmconvert.open_dataset(folder / "out")
    return {one.id: split for split in opened.splits for one in opened.records(split)}


def _join_slowly(records: Sequence[Record], kinds: Sequence[str]) -> list[set[str]]:
    """Join ids that have something in common, one pair of groups at a time."""
    groups: list[tuple[set[str], set[tuple[str, str]]]] = []
    for one in records:
        found = _list_facts(one)
        ids, facts = {one.id}, {(kind, value) for kind in kinds for value in found[kind]}
        for group in [group for group in groups if group[1] & facts]:
            groups.remove(group)
            ids, facts = ids | group[0], facts | group[1]
        groups.append((ids, facts))
    return [ids for ids, _ in groups]


_NUMBERS = st.integers(0, 30)
_ROWS = st.lists(st.tuples(st.lists(_NUMBERS, max_size=2), st.none() | _NUMBERS, st.none() | _NUMBERS), max_size=30)
_OTHERS = [_build(number, [number]) for number in range(100, 160)]
"""Rows that have nothing in common, so that every split has some."""
_KINDS = {"image": ("image", "group", "sample"), "group": ("group", "sample"), "sample": ("sample",)}


@given(rows=_ROWS, group_by=st.sampled_from([*_KINDS]), seed=st.integers(0, 5), data=st.data())
def test_keeps_together_what_a_slow_search_joins_in_any_order(
    rows: list[tuple[list[int], int | None, int | None]], group_by: str, seed: int, data: st.DataObject
) -> None:
    records = [*(_build(number, *row) for number, row in enumerate(rows)), *_OTHERS]
    with tempfile.TemporaryDirectory() as folder:
        found = _split(records, Path(folder), group_by=group_by, seed=seed)
        for ids in _join_slowly(records, _KINDS[group_by]):
            assert len({found[id] for id in ids}) == 1
        shown = defaultdict(set)
        for one in records:
            for image in one.images:
                shown[image.sha256].add(found[one.id])
        assert group_by != "image" or all(len(splits) == 1 for splits in shown.values())
        assert _split(data.draw(st.permutations(records)), Path(folder), group_by=group_by, seed=seed) == found


@given(added=st.lists(st.lists(st.integers(100, 200), max_size=1), max_size=20))
def test_rows_that_are_added_move_no_others(added: list[list[int]]) -> None:
    """Each added row has an image that is there already, a new one, or none."""
    with tempfile.TemporaryDirectory() as folder:
        before = _split(_OTHERS, Path(folder))
        more = [_build(number, shades) for number, shades in enumerate(added)]
        after = _split([*more, *_OTHERS], Path(folder))
    assert {id: after[id] for id in before} == before
    known = [(after[f"r{number}"], before.get(f"r{shade}")) for number, shades in enumerate(added) for shade in shades]
    assert all(mine == other for mine, other in known if other is not None)


def test_another_seed_divides_otherwise_and_shares_are_near_the_ratios(tmp_path: Path) -> None:
    records = [_build(number, []) for number in range(3_000)]
    one, other = (_split(records, tmp_path, split_ratio="a=0.8,b=0.2", seed=seed) for seed in (0, 1))
    assert one != other
    # 0.2 of 3,000 rows, give or take four standard deviations.
    assert all(512 <= [*found.values()].count("b") <= 688 for found in (one, other))


def test_rows_stay_as_they_are_and_in_their_order(tmp_path: Path) -> None:
    records = [_build(number, [number], group=number // 2) for number in range(40)]
    found = _split(records, tmp_path)
    opened = mmconvert.open_dataset(tmp_path / "out")
    for split in ("train", "val", "test"):
        assert [*opened.records(split)] == [one for one in records if found[one.id] == split]
    assert mmconvert.verify(tmp_path / "out") == []
    manifest = json.loads((tmp_path / "out" / ".mmconvert" / "manifest.json").read_text())
    ratios = {"train": 0.5, "val": 0.3, "test": 0.2}
    assert manifest["split"] == {"ratios": ratios, "group_by": "image", "seed": 0, "of": "train"}
    assert manifest["format"] == "vmcq"


def test_load_dataset_reads_every_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    found = _split([_build(number, [number]) for number in range(40)], tmp_path)
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {id: split for split, rows in loaded.items() for id in rows["id"]} == found


def test_kept_urls_and_attachments_are_images_too(tmp_path: Path) -> None:
    records = []
    for number in range(60):
        url = Image(None, 1, url=f"https://example.org/{number // 2}.png")
        shown = replace(_build(number, []), images=(url,))
        records.append(shown if number % 2 else replace(_build(number, []), attachments=(url, _show(number))))
    found = _split(records, tmp_path)
    assert all(found[f"r{number}"] == found[f"r{number + 1}"] for number in range(0, 60, 2))
    assert set(found.values()) == {"train", "val", "test"}


def test_counts_what_every_split_has(tmp_path: Path) -> None:
    records = [_build(number, [number % 5, number % 7], group=number) for number in range(70)]
    write_dataset(tmp_path / "in", {"train": records, "test": records[:1]})
    with pytest.raises(UsageError, match="holds several splits"):
        mmconvert.split(tmp_path / "in", tmp_path / "out", split_ratio="a,b=0.5")
    done = mmconvert.split(tmp_path / "in", tmp_path / "out", split_ratio="a,b=0.5", split="train", group_by="group")
    assert (done.rows, done.groups, done.not_read, done.images_shared) == (70, 70, ["test"], 7)
    assert [part.images for part in done.splits] == [7, 7]
    assert sum(part.rows for part in done.splits) == 70
    assert not done.is_coarse
    with pytest.raises(UsageError, match=r"split 'a' gets no row|split 'b' gets no row") as caught:
        mmconvert.split(tmp_path / "in", tmp_path / "one", split_ratio="a,b=0.5", split="train")
    assert "the 70 rows make 1 groups by image, the largest with 70 rows of the image" in str(caught.value)
    assert not (tmp_path / "one").exists()


def test_one_giant_group_is_said(tmp_path: Path) -> None:
    records = [_build(number, [99] if number < 30 else [number]) for number in range(60)]
    write_dataset(tmp_path / "in", {"train": records})
    given = ["split", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--split-ratio", "train,val=0.2"]
    result = CliRunner().invoke(program, given, catch_exceptions=False)
    assert result.exit_code == 0
    assert "30 of 60 rows are one group, all in train, more than the smallest split was to have" in result.stderr
    assert f": 30 of them have the image {_show(99).sha256}" in result.stderr
    result = CliRunner().invoke(program, [*given, "--overwrite", "--json"], catch_exceptions=False)
    found = json.loads(result.stdout)
    assert found["largest"] == {
        "rows": 30, "split": "train", "by": "image", "value": _show(99).sha256, "shared_by": 30
    }  # fmt: skip
    assert found["is_coarse"] is True


def test_an_interrupted_run_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_dataset(tmp_path / "in", {"train": [_build(number, [number]) for number in range(40)]})

    def stop(writer: ShardWriter) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ShardWriter, "close", stop)
    with pytest.raises(KeyboardInterrupt):
        mmconvert.split(tmp_path / "in", tmp_path / "out", split_ratio=_RATIO)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_refuses_places_that_it_would_destroy(tmp_path: Path) -> None:
    folder = write_dataset(tmp_path / "in", {"train": [_build(number, [number]) for number in range(40)]})
    for output in (folder, folder / "inside"):
        with pytest.raises((UsageError, Error), match="in"):
            mmconvert.split(folder, output, split_ratio=_RATIO, overwrite=True)
    assert mmconvert.verify(folder) == []
    (tmp_path / "plain.parquet").write_bytes(next(folder.rglob("*.parquet")).read_bytes())
    with pytest.raises(UsageError, match="is not a converted dataset"):
        mmconvert.split(tmp_path / "plain.parquet", tmp_path / "out", split_ratio=_RATIO)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("train=1", "expected two splits or more"),
        ("train=0.9,val=0.2", "add up to 1.1, not 1"),
        ("train=0.9,val=0.05", "add up to 0.95, not 1"),
        ("train,val", "several splits have no number"),
        ("train=0.5,val=0.5,test", "leave nothing for 'test'"),
        ("train=0.5,train=0.5", "'train' appears twice"),
        ("train=0.5,all=0.5", "'all' is not a split name"),
        ("../x=0.5,val=0.5", "is not a split name"),
        ("train=,val=0.5", "train: expected a number between 0 and 1"),
        ("train=nan,val=0.5", "train: expected a number between 0 and 1"),
        ("train=98,val=2", "train: expected a number between 0 and 1"),
    ],
)
def test_ratios_that_make_no_sense_are_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_ratios(text)
    assert said in str(caught.value)
