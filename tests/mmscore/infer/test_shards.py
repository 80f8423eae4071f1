"""Shards of a run: every row is in one of them, and merged they are the file of one process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mmscore
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import Part, Record, Turn
from mmconvert.dataset.dataset import Dataset, DatasetWriter, open_dataset
from mmscore.core.predictions.run_metadata import RUN_METADATA
from mmscore.infer import predictions_file
from mmscore.infer.shards import _list_cuts, find_shard, name_shard_file, parse_shard
from support.chat_server import Said, chat_server, said
from support.questions import make_image, record

ROWS = 700
PROGRAM = [sys.executable, "-c", "from mmscore.cli import main; main()"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    with DatasetWriter(tmp_path / "d") as writer:
        picture = make_image("red")
        rows = [record(n, picture, f"question {n}", answer=f"answer {n} " * (n % 7), task="vqa") for n in range(ROWS)]
        writer.write(rows[:500], "a")
        writer.write(rows[500:], "b")
    return tmp_path / "d"


def predict(dataset: Path, output: Path, shard: str | None = None, **more: object) -> Path:
    summary = mmscore.predict(dataset, output, model="answer", backend="echo", shard=shard, **more)
    return Path(summary.output)


def predict_all(dataset: Path, output: Path, of: int, **more: object) -> list[Path]:
    return [predict(dataset, output, f"{number}/{of}", **more) for number in range(1, of + 1)]


@given(total=st.integers(0, 300), of=st.integers(1, 40))
def test_every_row_is_in_one_shard_and_shards_differ_by_one_row_at_most(total: int, of: int) -> None:
    nowhere = Dataset(Path("x"), {}, {}, "")
    shards = [find_shard(nowhere, total, f"{number}/{of}", keeps_groups=False) for number in range(1, of + 1)]
    assert [row for one in shards for row in range(one.first, one.first + one.rows)] == list(range(total))
    assert max(one.rows for one in shards) - min(one.rows for one in shards) <= 1


@given(st.lists(st.sampled_from([None, "a", "b", "c", "d"]), max_size=40))
def test_no_cut_goes_through_a_conversation(groups: list[str | None]) -> None:
    cuts = _list_cuts(groups, len(groups))
    assert cuts[-1] == len(groups)
    for cut in range(len(groups)):
        parted = ({*groups[:cut]} & {*groups[cut:]}) - {None}
        assert (cut in cuts) == (not parted)


@pytest.mark.parametrize("of", [1, 3, 8])
def test_merged_shards_have_the_bytes_of_one_process(dataset: Path, tmp_path: Path, of: int) -> None:
    one = predict(dataset, tmp_path / "one.parquet")
    shards = predict_all(dataset, tmp_path / "answers.parquet", of)
    assert [file.name for file in shards] == [f"answers.{number}.parquet" for number in range(1, of + 1)]
    merged = mmscore.merge(shards[::-1], tmp_path / "answers.parquet")
    assert (merged.shards, merged.rows, merged.failed) == (of, ROWS, 0)
    assert (tmp_path / "answers.parquet").read_bytes() == one.read_bytes()


@pytest.mark.parametrize(
    ("more", "of"),
    [({"limit": 333}, 7), ({"limit": 5}, 7), ({"processes": 2}, 2)],
    ids=["limit", "more shards than rows", "processes"],
)
def test_other_options_stay_those_of_one_process(dataset: Path, tmp_path: Path, more: dict[str, int], of: int) -> None:
    one = predict(dataset, tmp_path / "one.parquet", **more)
    mmscore.merge(predict_all(dataset, tmp_path / "p.parquet", of, **more), tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").read_bytes() == one.read_bytes()


def test_row_groups_end_where_they_end_in_one_process(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions_file, "_ROW_GROUP_BYTES", 30_000)
    monkeypatch.setattr(predictions_file, "_BLOCK_ROWS", 16)
    one = predict(dataset, tmp_path / "one.parquet")
    assert pq.read_metadata(one).num_row_groups > 5
    mmscore.merge(predict_all(dataset, tmp_path / "p.parquet", 3), tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").read_bytes() == one.read_bytes()


def test_a_conversation_stays_in_one_shard(tmp_path: Path) -> None:
    def build(n: int, round_number: int) -> Record:
        said = [Turn("user" if k % 2 == 0 else "assistant", (Part("text", f"{n}.{k}"),)) for k in range(7)]
        messages = tuple(said[: 2 * round_number + 1])
        return record(3 * n + round_number, messages=messages, answer="A", group=f"g{n}", round=round_number)

    with DatasetWriter(tmp_path / "d") as writer:
        rows = [build(n, round_number) for n in range(9) for round_number in range(3)]
        writer.write(rows)
    options = {"protocol": "vlmevalkit"}
    one = predict(tmp_path / "d", tmp_path / "one.parquet", **options)
    shards = predict_all(tmp_path / "d", tmp_path / "p.parquet", 4, **options)
    for shard in shards:
        assert pq.read_metadata(shard).num_rows % 3 == 0
    mmscore.merge(shards, tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").read_bytes() == one.read_bytes()
    assert pq.read_table(one)["prediction_status"].unique().to_pylist() == ["ok"]


@pytest.mark.slow
def test_a_shard_that_is_killed_and_resumed_changes_nothing(dataset: Path, tmp_path: Path) -> None:
    def say(request: dict) -> Said:
        text = next(part["text"] for part in request["messages"][-1]["content"] if part["type"] == "text")
        return Said(said(text.upper()).body, silent=0.01)

    with chat_server(say) as server:
        words = [*PROGRAM, "predict", dataset, "--model", "loopback", "--base-url", server.url, "--concurrency", 4]

        def start(output: Path, *more: object) -> "subprocess.Popen[bytes]":
            return subprocess.Popen(list(map(str, [*words, "-o", output, *more])), stderr=subprocess.DEVNULL)

        assert start(tmp_path / "one.parquet").wait() == 0
        first = [start(tmp_path / "p.parquet", "--shard", f"{number}/3") for number in (1, 2, 3)]
        end = time.monotonic() + 60
        while len(server.asked) < ROWS + 60 and time.monotonic() < end:
            time.sleep(0.01)
        first[1].send_signal(signal.SIGKILL)
        assert [one.wait() for one in first] == [0, -signal.SIGKILL, 0]
        assert not (tmp_path / "p.2.parquet").exists()
        assert start(tmp_path / "p.parquet", "--shard", "2/3").wait() == 0
    files = sorted(tmp_path.glob("p.*.parquet"))
    mmscore.merge(files, tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").read_bytes() == (tmp_path / "one.parquet").read_bytes()


def test_what_is_missing_repeated_foreign_or_no_shard_is_named(dataset: Path, tmp_path: Path) -> None:
    output = tmp_path / "p.parquet"
    shards = predict_all(dataset, output, 4)
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(shards[0].read_bytes())
    foreign = predict(dataset, tmp_path / "q.parquet", "2/4", max_new_tokens=None, limit=100)
    other_count = predict(dataset, tmp_path / "r.parquet", "2/5")
    whole = predict(dataset, tmp_path / "whole.parquet")
    cases = [
        (shards[::3], Error, r"p\.parquet: shards 2, 3 of 4 missing \(.*p\.2\.parquet, .*p\.3\.parquet\).*--shard 2/4"),
        ([*shards, copy], Error, rf"{shards[0]}, {copy}: are all shard 1 of 4"),
        ([*shards, shards[0]], Error, "are all shard 1 of 4"),
        ([shards[0], other_count, *shards[2:]], Error, f"{other_count}: is of another run .*number of shards"),
        ([shards[0], foreign, *shards[2:]], Error, f"{foreign}: does not begin where shard 1 ends"),
        ([*shards, whole], Error, f"{whole}: is no shard of a run"),
        ([], UsageError, "no shard is given"),
    ]
    for files, kind, message in cases:
        with pytest.raises(kind, match=message):
            mmscore.merge(files, output)
        assert not output.exists()


@pytest.mark.parametrize("change", [{"system": "Be brief."}, {"no_interleave": True}, {"model": "prompt"}])
def test_a_shard_of_other_settings_is_foreign(dataset: Path, tmp_path: Path, change: dict[str, object]) -> None:
    shards = predict_all(dataset, tmp_path / "p.parquet", 3)
    given = {"model": "answer", "backend": "echo", "shard": "2/3", "restart": True} | change
    mmscore.predict(dataset, tmp_path / "p.parquet", **given)
    with pytest.raises(Error, match=f"{shards[1]}: is of another run than {shards[0]}"):
        mmscore.merge(shards, tmp_path / "p.parquet")


def test_a_shard_that_was_stopped_is_not_merged(dataset: Path, tmp_path: Path) -> None:
    def stop(records: list) -> list[str]:
        if records[0].id == "400":
            os.kill(os.getpid(), signal.SIGINT)
        return ["A"] * len(records)

    given = {"model": "m", "backend": stop, "batch_size": 1}
    mmscore.predict(dataset, tmp_path / "p.parquet", shard="1/2", **given)
    with pytest.raises(KeyboardInterrupt):
        mmscore.predict(dataset, tmp_path / "p.parquet", shard="2/2", **given)
    with pytest.raises(Error, match=r"p\.2\.parquet: shard 2 of 2 was stopped early"):
        mmscore.merge([tmp_path / "p.1.parquet", tmp_path / "p.2.parquet"], tmp_path / "p.parquet")


def test_metadata_that_claims_what_the_file_does_not_hold_is_refused(dataset: Path, tmp_path: Path) -> None:
    shard = predict(dataset, tmp_path / "p.parquet", "1/2")
    about = json.loads(pq.read_schema(shard).metadata[RUN_METADATA])
    for change, message in [
        ({"rows": 7}, "is damaged"),
        ({"dataset_rows": "x"}, "is damaged"),
        ({"shard": {**about["shard"], "of": 10**9}}, "is no shard"),
        ({"shard": {**about["shard"], "first": -1}}, "is no shard"),
        ({"shard": {**about["shard"], "rows": -1}}, "is no shard"),
        ({"shard": [1]}, "is no shard"),
    ]:
        table = pq.read_table(shard)
        metadata = {**table.schema.metadata, RUN_METADATA: json.dumps(about | change).encode()}
        pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "odd.parquet")
        with pytest.raises(Error, match=message):
            mmscore.merge([tmp_path / "odd.parquet"], tmp_path / "out.parquet")


def test_the_score_of_a_shard_says_that_it_is_one(dataset: Path, tmp_path: Path) -> None:
    shard = predict(dataset, tmp_path / "p.parquet", "1/2")
    (entry,) = mmscore.score(shard, "own_short_answer").entries
    assert entry.partial
    assert any("is shard 1 of 2 of a run" in note for note in entry.messages)


def test_an_output_that_exists_is_replaced_only_if_asked(dataset: Path, tmp_path: Path) -> None:
    shards = predict_all(dataset, tmp_path / "p.parquet", 2)
    mmscore.merge(shards, tmp_path / "p.parquet")
    with pytest.raises(UsageError, match=r"already exists\. overwrite=True replaces it"):
        mmscore.merge(shards, tmp_path / "p.parquet")
    mmscore.merge(shards, tmp_path / "p.parquet", overwrite=True)
    with pytest.raises(UsageError):
        mmscore.merge(shards, shards[0], overwrite=True)


@pytest.mark.parametrize("text", ["0/8", "9/8", "1", "1/0", "-1/2", "a/b", "1/2/3", "1/100001", "²/3"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--shard: "):
        parse_shard(text)


def test_shards_of_a_url_lie_beside_it() -> None:
    assert name_shard_file("s3://bucket/run.v2/answers.parquet", "3/8") == "s3://bucket/run.v2/answers.3.parquet"


def test_batches_begin_at_a_row(dataset: Path) -> None:
    rows = open_dataset(dataset)
    for first in (0, 1, 255, 256, 499, 500, 501, ROWS - 1, ROWS, ROWS + 5):
        ids = [key for batch in rows.batches(["id"], first=first) for key in batch["id"].to_pylist()]
        assert ids == [str(number) for number in range(first, ROWS)]
