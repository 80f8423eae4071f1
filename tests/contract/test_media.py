"""A question about a video or a sound is refused by name in every format, for without it it is another question."""

from pathlib import Path

import pytest

from contract.test_formats import FORMATS, example
from mmconvert.pipeline.convert import read
from mmconvert.plugins.registry import load
from support.media_readings import NAMES

READINGS = Path(__file__).resolve().parents[1] / "support/media_readings.py"
SHAPED = {"mmconvert", "mmtrust", "mmtrust_config", "mme_results", "mmmu_outputs"}
"""Formats of our own columns, and of folders and files whose rows have no further fields."""


@pytest.mark.parametrize("column", NAMES)
@pytest.mark.parametrize("name", sorted({*FORMATS} - SHAPED))
def test_a_row_of_a_video_or_a_sound_is_refused_by_name(name: str, column: str) -> None:
    plain, records = read(example(name), name), read(example(name), name, read_as=f"{READINGS}@{column}")
    answered = {record.id for record in plain if record.prediction is not None}
    assert {record.id for record in records} == answered
    asked = plain.rows_read - len(answered)
    assert [reject.code for reject in records.rejects] == ["media.unsupported"] * len(records.rejects)
    assert all(column in reject.field for reject in records.rejects)
    assert bool(records.rejects) == bool(asked)
    video = load("mmconvert.formats", name).videos and not column.startswith("audio")
    assert all(reject.message.endswith("--frames 8") == video for reject in records.rejects)


@pytest.mark.parametrize("name", sorted(name for name in {*FORMATS} - SHAPED if load("mmconvert.formats", name).videos))
def test_a_video_that_no_format_looks_at_is_refused_with_frames_too(name: str) -> None:
    records = read(example(name), name, read_as=f"{READINGS}@VIDEO_PATH", frames=2)
    assert all(record.prediction is not None for record in records)
    assert {reject.code for reject in records.rejects} <= {"media.unsupported", "video.missing"}
    assert not any(reject.message.endswith("--frames 8") for reject in records.rejects)


@pytest.mark.parametrize("column", NAMES)
def test_an_empty_column_of_videos_is_none(column: str, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(f'{{"question": "Which?", "options": ["x", "y"], "answer": "A", "{column}": null}}\n')
    assert [record.answer for record in read(file, "vmcq")] == ["A"]


@pytest.mark.parametrize("mark", ["<video 1>", "<audio_2>"])
def test_a_placeholder_of_a_video_or_a_sound_is_refused(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(f'{{"question": "Which? {mark}", "options": ["x", "y"], "answer": "A"}}\n')
    records = read(file, "vmcq")
    assert list(records) == []
    assert [reject.code for reject in records.rejects] == ["media.unsupported"]
