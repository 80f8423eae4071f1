"""Mixtures: what is taken of each source, in an order that other sources do not change, with bytes as they were."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import mmconvert
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Record
from mmconvert.curation import mix_rows
from mmconvert.curation.shares import compute_shares, count_taken
from mmconvert.pipeline.sampling import hash_text
from support.datasets_on_disk import record, write_dataset

_MASK = (1 << 64) - 1


def _write(path: Path, name: str, rows: int) -> Path:
    records = [replace(record(number), id=f"{name}{number}", sample=f"{name}{number}") for number in range(rows)]
    return write_dataset(path / name, {"train": records})


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    return {name: _write(tmp_path, name, rows) for name, rows in (("a", 300), ("b", 40), ("c", 100))}


def _read(folder: Path) -> list[Record]:
    return list(mmconvert.open_dataset(folder).records())


def _scramble(value: int) -> int:
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def _mix_slowly(sources: dict[str, Path], taken: dict[str, int], seed: int) -> list[tuple[str, int]]:
    """Mix in plain Python: id and number of the repetition of each row, in order."""
    ordered = []
    for name, folder in sources.items():
        start = hash_text(f"{seed} {name}")
        rows = sorted((_scramble(hash_text(one.id) ^ start), one.id) for one in _read(folder))
        for place in range(taken[name]):
            (key, id), number = rows[place % len(rows)], place // len(rows)
            ordered.append((_scramble((_scramble(key) + number) & _MASK), id, number))
    return [(id, number) for _, id, number in sorted(ordered)]


@pytest.mark.parametrize("bucket", [mix_rows.BUCKET_BYTES, 20_000])
def test_gives_the_rows_and_the_order_of_a_slow_mixture(
    sources: dict[str, Path], tmp_path: Path, bucket: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mix_rows, "BUCKET_BYTES", bucket)
    given = [f"{sources['a']}:0.5", f"{sources['b']}:0.3", str(sources["c"])]
    done = mmconvert.mix(given, tmp_path / "out", samples=200, exhausted="repeat", seed=3)
    assert [(one.name, one.taken, one.repeated) for one in done.sources] == [("a", 100, 0), ("b", 60, 20), ("c", 40, 0)]
    expected = _mix_slowly(sources, {"a": 100, "b": 60, "c": 40}, 3)
    found = _read(tmp_path / "out")
    assert [one.id for one in found] == [f"{id}#repeat{number}" if number else id for id, number in expected]
    originals = {one.id: one for folder in sources.values() for one in _read(folder)}
    unnamed = [replace(one, id=id) for one, (id, _) in zip(found, expected, strict=True)]
    assert unnamed == [originals[id] for id, _ in expected]
    assert mmconvert.verify(tmp_path / "out") == []
    assert {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()} == {".parquet", ".md", ".json"}
    manifest = json.loads((tmp_path / "out" / ".mmconvert" / "manifest.json").read_text())
    assert manifest["mix"] == json.loads(json.dumps(done.to_json()))


def test_another_source_changes_neither_choice_nor_order_of_the_others(
    sources: dict[str, Path], tmp_path: Path
) -> None:
    a, b, c = map(str, sources.values())
    mmconvert.mix([f"{a}:3", f"{b}:1"], tmp_path / "two", samples=40)
    mmconvert.mix([f"{c}:6", f"{b}:1", f"{a}:3"], tmp_path / "three", samples=100)
    two = [one.id for one in _read(tmp_path / "two")]
    assert [one.id for one in _read(tmp_path / "three") if one.id[0] != "c"] == two
    assert Counter(id[0] for id in two) == {"a": 30, "b": 10}
    # All of it is mixed: rows of each source stand in both halves.
    assert {id[0] for id in two[:20]} == {id[0] for id in two[20:]} == {"a", "b"}


def test_ids_that_several_sources_have_get_the_name_in_front(tmp_path: Path) -> None:
    one, other, third = (_write(tmp_path / str(n), "a", 10 + n) for n in range(3))
    alone = _write(tmp_path, "z", 5)
    with pytest.raises(UsageError, match="3 sources are called 'a'"):
        mmconvert.mix([one, other, third], tmp_path / "out")
    done = mmconvert.mix([f"x={one}", f"y={other}", alone], tmp_path / "out", exhausted="once")
    assert [source.renamed for source in done.sources] == [True, True, False]
    found = _read(tmp_path / "out")
    assert len({row.id for row in found}) == 10 + 11 + 5
    assert {row.id[:3] for row in found} == {"x-a", "y-a", "z0", "z1", "z2", "z3", "z4"}
    assert all(row.sample == row.id for row in found)


def test_reads_the_list_of_a_llava_onevision_mixture(sources: dict[str, Path], tmp_path: Path) -> None:
    lines = [("a", "first:10"), ("b", "end:5%"), ("c", "random:7")]
    text = "".join(f"- json_path: {name}\n  sampling_strategy: {strategy!r}\n" for name, strategy in lines)
    (tmp_path / "mix.yaml").write_text(f"datasets:\n{text}")
    done = mmconvert.mix(tmp_path / "mix.yaml", tmp_path / "out")
    assert [source.taken for source in done.sources] == [10, 2, 7]
    ids = {one.id for one in _read(tmp_path / "out")}
    assert {id for id in ids if id[0] != "c"} == {*(f"a{n}" for n in range(10)), "b38", "b39"}
    assert {id for id in ids if id[0] == "c"} != {f"c{n}" for n in range(7)}
    for options in ({"samples": 3}, {"temperature": 2.0}):
        with pytest.raises(UsageError, match="says how much is taken"):
            mmconvert.mix(tmp_path / "mix.yaml", tmp_path / "more", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("datasets: []", "has no list 'datasets'"),
        ("datasets: [{json_path: ../a}]", "no such dataset beside it"),
        ("datasets: [{json_path: a, sampling_strategy: some}]", r"datasets\[0\].sampling_strategy: expected all"),
        ("datasets: [{json_path: rows.json}]", "Convert the whole mixture instead: mmconvert convert"),
    ],
)
def test_refuses_a_list_that_is_wrong(sources: dict[str, Path], tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rows.json").write_text("[]")
    (tmp_path / "mix.yaml").write_text(text)
    with pytest.raises((Error, UsageError), match=said):
        mmconvert.mix(tmp_path / "mix.yaml", tmp_path / "out")


def test_refuses_sources_that_do_not_fit(sources: dict[str, Path], tmp_path: Path) -> None:
    a = str(sources["a"])
    both = write_dataset(tmp_path / "both", {"train": [record(1)], "test": [record(2)]})
    mmconvert.convert(sources["b"], tmp_path / "other", view="prompt")
    wrong: list[tuple[list[str], dict[str, Any], str]] = [
        ([f"{both}"], {}, "holds several splits. Name one:"),
        ([a], {"split": "val"}, "no split 'val'. Known: train"),
        ([f"{a}:0"], {}, "a weight is above 0"),
        ([f"{a}:0.7", f"{sources['b']}:0.3", str(sources["c"])], {}, "leave nothing for sources without one"),
        ([str(tmp_path / "nowhere")], {}, "no such file or folder"),
        ([a, str(tmp_path / "other")], {}, "a has the view eval and other the view prompt"),
        ([f"{a}:1", f"{sources['b']}:1000"], {"output_split": "../x"}, "is not a split name"),
    ]
    for inputs, options, said in wrong:
        with pytest.raises((Error, UsageError), match=said):
            mmconvert.mix(inputs, tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()
    mmconvert.mix([f"{both}"], tmp_path / "out", split="test", output_split="dev")
    assert mmconvert.open_dataset(tmp_path / "out").splits == {"dev": 1}


_SIZES = st.lists(st.integers(1, 500), min_size=1, max_size=6)


@given(_SIZES, st.data())
def test_counts_hold_the_shares_and_the_promises_of_each_policy(sizes: list[int], data: st.DataObject) -> None:
    weights = [data.draw(st.none() | st.floats(0.01, 0.9 / len(sizes))) for _ in sizes]
    shares = compute_shares(sizes, weights, data.draw(st.floats(0.5, 20)))
    assert sum(shares) == pytest.approx(1)
    samples = data.draw(st.none() | st.integers(1, 2000))
    stop = count_taken(sizes, shares, samples, "stop")
    repeat = count_taken(sizes, shares, samples, "repeat")
    once = count_taken(sizes, shares, samples, "once")
    total = sum(stop)
    assert all(taken <= size for taken, size in zip(stop, sizes, strict=True))
    assert all(abs(taken - total * share) <= 2 for taken, share in zip(stop, shares, strict=True))
    if samples is None:
        assert all(taken >= size for taken, size in zip(repeat, sizes, strict=True))
        assert once == sizes
    else:
        assert sum(repeat) == samples
        assert sum(once) == min(samples, sum(sizes))
        assert all(taken <= size for taken, size in zip(once, sizes, strict=True))
