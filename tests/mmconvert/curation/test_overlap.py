"""Samples of benchmarks in training sets: pairs, counts, what is dropped, and fingerprints without content."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import mmconvert
from mmconvert.cli import program
from mmconvert.core.errors import Error, UsageError
from mmconvert.curation.overlap import Overlap
from mmconvert.dataset.dataset import open_dataset
from support.planted_leaks import CHANGES, KINDS, draw_size, encode, invent_words, write_rows

Rows = Sequence[tuple[str, bytes | None, str]]


def convert(folder: Path, name: str, rows: Rows) -> Path:
    mmconvert.convert(write_rows(folder, name, rows), folder / name, image_root=folder / "images")
    return folder / name


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark `bench` of 9 samples, and a training set `train` that holds some of them, altered or not."""
    folder = tmp_path_factory.mktemp("overlap")
    draws = random.Random(21)
    pictures = [KINDS[list(KINDS)[number % 3]](draws, draw_size(draws)) for number in range(9)]
    images = [encode(picture, "PNG") for picture in pictures]
    asked = [" ".join(invent_words(draws, 12)) for _ in pictures]
    convert(
        folder,
        "bench",
        [(f"b{n}", image, question) for n, (image, question) in enumerate(zip(images, asked, strict=True))],
    )
    other = " ".join(invent_words(draws, 12))
    train: list[tuple[str, bytes | None, str]] = [
        ("image and text", images[0], asked[0].title()),
        ("image", images[1], other),
        ("half size", CHANGES["half size"](pictures[2]), other),
        ("cut", CHANGES["5 % cut off each side"](pictures[3]), asked[3]),
        ("text", None, asked[4] + "?!"),
        ("near text", None, " ".join([*asked[5].split()[:5], "zzz", *asked[5].split()[6:]])),
    ]
    train += [
        (f"new {n}", encode(KINDS[list(KINDS)[n % 3]](draws, draw_size(draws))), " ".join(invent_words(draws, 12)))
        for n in range(12)
    ]
    convert(folder, "train", train)
    return folder


def list_ways(found: Overlap) -> set[tuple[str, str, str]]:
    return {(pair.id, pair.train_id, pair.way) for pair in found.pairs}


EXACT = {
    ("b0", "image and text", "image"),
    ("b0", "image and text", "text"),
    ("b1", "image", "image"),
    ("b3", "cut", "text"),
    ("b4", "text", "text"),
}
NEAR = {("b2", "half size", "near image"), ("b3", "cut", "near image"), ("b5", "near text", "near text")}


def test_planted_samples_are_found_and_counted(folder: Path) -> None:
    found = mmconvert.overlap(folder / "train", folder / "bench")
    assert list_ways(found) == EXACT | NEAR
    counts = found.to_json()["benchmarks"]
    assert counts == {
        "bench": {"samples": 9, "found": 6, "image": 2, "near_image": 2, "text": 4, "both": 2, "rejected": 0}
    }
    assert (found.train_samples, found.train_found) == (18, 6)
    distances = {pair.way: pair.distance for pair in found.pairs}
    assert distances["image"] == distances["text"] == 0
    assert distances["near text"] == pytest.approx(1 - 20 / 26, abs=0.001)


def test_exact_leaves_near_ones_out(folder: Path) -> None:
    assert list_ways(mmconvert.overlap(folder / "train", folder / "bench", exact=True)) == EXACT
    with pytest.raises(UsageError, match="exclude each other"):
        mmconvert.overlap(folder / "train", folder / "bench", exact=True, near=True)


def test_the_benchmark_may_be_the_side_that_is_cut(folder: Path) -> None:
    assert ("cut", "b3", "near image") in list_ways(mmconvert.overlap(folder / "bench", folder / "train"))


def test_dropped_samples_are_those_that_were_found(folder: Path, tmp_path: Path) -> None:
    mmconvert.overlap(folder / "train", folder / "bench", tmp_path / "clean", drop=True)
    assert [record.id for record in open_dataset(tmp_path / "clean").records()] == [f"new {n}" for n in range(12)]
    assert mmconvert.verify(tmp_path / "clean") == []
    for arguments in ({"drop": True}, {"output": tmp_path / "other"}):
        with pytest.raises(UsageError, match="belong together"):
            mmconvert.overlap(folder / "train", folder / "bench", **arguments)


def test_fingerprints_stand_for_a_benchmark_without_its_content(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "public.parquet"
    done = mmconvert.fingerprint([folder / "bench", folder / "train"], file)
    assert done.samples == {"bench": 9, "train": 18}
    assert done.images["hashed"] == 9 + 16
    of_file = mmconvert.overlap(folder / "train", fingerprints=file)
    assert list_ways(of_file) >= EXACT | NEAR
    assert of_file.benchmarks["bench"] == mmconvert.overlap(folder / "train", folder / "bench").benchmarks["bench"]
    assert of_file.benchmarks["train"].both == 16
    held = file.read_bytes()
    for record in open_dataset(folder / "bench").records():
        assert record.images[0].bytes is not None
        assert record.images[0].bytes[:64] not in held
        assert (record.question or "").encode() not in held
    assert not {"question", "messages"} & set(pq.read_schema(file).names)


def test_fingerprints_are_kept_and_used_again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = mmconvert.overlap(folder / "train", folder / "bench")
    assert list((folder / "bench" / ".mmconvert").glob("fingerprints-*.parquet"))
    monkeypatch.setattr("mmconvert.curation.perceptual.hash_image", lambda data: pytest.fail("an image was hashed"))
    assert mmconvert.overlap(folder / "train", folder / "bench") == first
    assert mmconvert.verify(folder / "bench") == []


def test_a_short_text_or_a_template_counts_only_with_its_image(tmp_path: Path) -> None:
    draws = random.Random(5)
    pictures = [encode(KINDS["textured"](draws, (200, 200)), "PNG") for _ in range(4)]
    template = "how many objects of the colour {} are there in this image here"
    bench = [
        ("short", pictures[0], "What is this?"),
        ("red", pictures[1], template.format("red")),
        ("blue", pictures[2], template.format("blue")),
        ("alone", pictures[3], "which of the three towers on the left has a round window"),
    ]
    train: list[tuple[str, bytes | None, str]] = [
        ("t0", None, "what is this"),
        ("t1", None, template.format("red")),
        ("t2", pictures[2], template.format("green")),
        ("t3", None, "Which of the three towers on the left has a round window?"),
    ]
    convert(tmp_path, "bench", bench)
    found = mmconvert.overlap(convert(tmp_path, "train", train), tmp_path / "bench")
    assert list_ways(found) == {("blue", "t2", "image"), ("blue", "t2", "near text"), ("alone", "t3", "text")}
    fewer = mmconvert.overlap(tmp_path / "train", tmp_path / "bench", min_words=3, exact=True)
    assert ("short", "t0", "text") in list_ways(fewer)


def test_each_turn_and_each_long_line_is_a_question(tmp_path: Path) -> None:
    told = "Answer the question with a single word or a short phrase."
    asked = [" ".join(invent_words(random.Random(n), 10)) for n in range(5)]
    bench = [{"id": f"b{n}", "question": f"{text}\n{told}", "answer": "yes"} for n, text in enumerate(asked)]
    (tmp_path / "bench.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bench))
    talks = [[asked[0], "yes", asked[1].upper(), "no", "thanks"], [f"{asked[2]}\nBe brief."], [f"Tell me.\n{told}"]]
    train = [
        {"conversations": [{"from": ("human", "gpt")[n % 2], "value": text} for n, text in enumerate([*talk, "ok"])]}
        for talk in talks
    ]
    (tmp_path / "train.json").write_text(json.dumps(train))
    mmconvert.convert(tmp_path / "train.json", tmp_path / "train")
    found = mmconvert.overlap(tmp_path / "train", tmp_path / "bench.jsonl", exact=True)
    pairs = {(pair.id, pair.train_id[-1]) for pair in found.pairs}
    assert pairs == {("b0", "0"), ("b1", "0"), ("b2", "1")}


def test_a_benchmark_may_be_a_file_that_convert_reads(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "fresh.jsonl").write_text(
        "".join(json.dumps({"id": one.id, "question": one.question, "answer": "yes"}) + "\n"
                for one in open_dataset(folder / "bench").records())
    )  # fmt: skip
    found = mmconvert.overlap(folder / "train", tmp_path / "fresh.jsonl")
    assert found.benchmarks["fresh"].found == 4
    assert found.benchmarks["fresh"].image == 0


def test_the_command_shows_a_table_a_page_and_json(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "pairs.html"
    arguments = ["overlap", str(folder / "train"), "--with", str(folder / "bench"), "--html", str(page)]
    run = CliRunner().invoke(program, arguments, standalone_mode=False)
    assert run.return_value == 0
    assert run.output.splitlines()[:3] == [
        "benchmark  samples       found       image  near image        text        both",
        "bench            9  6 (66.7 %)  2 (22.2 %)  2 (22.2 %)  4 (44.4 %)  2 (22.2 %)",
        "6 of 18 training samples are in 8 pairs.",
    ]
    assert page.read_text("utf-8").count("data:image/webp") >= 7
    run = CliRunner().invoke(program, [*arguments, "--json"], standalone_mode=False)
    pairs = json.loads(run.output)["pairs"]
    assert {(pair["id"], pair["train_id"], pair["way"]) for pair in pairs} == EXACT | NEAR
    assert set(pairs[0]) == {"benchmark", "id", "train_split", "train_id", "way", "distance"}


def test_what_cannot_be_compared_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to compare with"):
        mmconvert.overlap(folder / "train")
    with pytest.raises(UsageError, match="two benchmarks are called bench"):
        mmconvert.overlap(folder / "train", [folder / "bench", folder / "bench"])
    with pytest.raises(UsageError, match=r"a page is an HTML file\. Use the extension: .*pairs\.html"):
        mmconvert.overlap(folder / "train", folder / "bench", html=tmp_path / "pairs.txt")
    (tmp_path / "none.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(Error, match=r"none\.parquet: "):
        mmconvert.overlap(folder / "train", fingerprints=tmp_path / "none.parquet")
