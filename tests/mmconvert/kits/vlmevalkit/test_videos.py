"""VLMEvalKit's tables about videos."""

from pathlib import Path

import pytest

from mmconvert.pipeline.convert import read
from support.videos import make_video

FIELDS = "index\tvideo\tvideo_path\tduration\tcandidates\tquestion\tanswer\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_video(tmp_path / "video/a.mp4")
    make_video(tmp_path / "b.mp4")
    return tmp_path


def table(folder: Path, text: str) -> Path:
    (folder / "t.tsv").write_text(text)
    return folder / "t.tsv"


def test_a_table_as_video_mmes_is_read_with_its_options(folder: Path) -> None:
    options = "['A. Apples.', 'B. Candles.', 'C. Berries.']"
    file = table(folder, f"{FIELDS}0\ta\t./video/a.mp4\tshort\t{options}\tWhat is it?\tC\n")
    (record,) = read(file, frames=3)
    assert (record.options, record.answer, record.task) == (("Apples.", "Candles.", "Berries."), "C", "multiple_choice")
    assert [image.source_name for image in record.images] == ["video/a.mp4"] * 3
    assert [part.type for part in record.messages[0].content] == ["image"] * 3 + ["text"]
    assert record.extra == {"video": "a", "duration": "short"}


def test_an_answer_in_words_becomes_its_letter(folder: Path) -> None:
    file = table(folder, "index\tvideo\tcandidates\tquestion\tanswer\n0\tb.mp4\t['red', 'blue']\tWhich?\tblue\n")
    (record,) = read(file, frames=1)
    assert (record.options, record.answer) == (("red", "blue"), "B")


def test_a_name_without_its_ending_is_completed_where_that_is_the_file(folder: Path) -> None:
    file = table(folder, "index\tvideo\tquestion\tanswer\n0\tb\tWhy?\tx\n1\tb.mp4\tWhy?\tx\n2\tc\tWhy?\tx\n")
    records = read(file, frames=1)
    assert [record.images[0].source_name for record in records] == ["b.mp4", "b.mp4"]
    assert [(reject.code, "(got 'c')" in reject.message) for reject in records.rejects] == [("video.missing", True)]


def test_a_row_without_a_video_or_an_image_is_refused(folder: Path) -> None:
    records = read(table(folder, "index\tvideo\tquestion\tanswer\n0\t\tWhy?\tx\n1\tb\tWhy?\tx\n"), frames=1)
    assert len(list(records)) == 1
    assert [reject.code for reject in records.rejects] == ["image.absent"]


def test_a_part_of_a_video_is_named_in_a_remark(folder: Path) -> None:
    records = read(table(folder, "index\tvideo\tquestion\tanswer\tstart\tend\n0\tb\tWhy?\tx\t1.0\t2.0\n"), frames=1)
    assert len(list(records)) == 1
    assert any("a part of its video" in remark for remark in records.warnings)


def test_references_need_no_video(folder: Path) -> None:
    file = table(folder, "index\tvideo\tquestion\tanswer\n0\tnone\tWhy?\tx\n")
    (record,) = read(file, for_scoring=True)
    assert (record.answer, record.images, record.extra) == ("x", (), {"video": "none"})
