"""Frames stand where a video stood, in every form that rows name videos in."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmconvert.chat.videos import ShownVideos, list_numbered_videos, take_videos
from mmconvert.core.errors import RowError
from mmconvert.core.record import Record
from mmconvert.images.loader import ImageLoader
from mmconvert.images.video import FrameSampling
from mmconvert.io.detect import guess
from mmconvert.pipeline.convert import read
from mmconvert.pipeline.read import Records
from mmconvert.plugins.format import Context
from support.deferred import defer
from support.records import image_bytes
from support.videos import make_video


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("media")
    make_video(folder / "a.mp4")
    make_video(folder / "b.avi", frames=10)
    make_video(folder / "short.mp4", frames=2)
    (folder / "red.png").write_bytes(image_bytes("PNG"))
    return folder


def shown(record: Record) -> list[str]:
    """Write each turn, with `[NAME@SECONDS]` for a frame and `[NAME]` for an image."""
    images = iter(record.images)

    def write(part: Any) -> str:
        if part.type == "text":
            return str(part.text)
        image = next(images)
        return f"[{image.name}]" if image.time is None else f"[{image.source_name}@{image.time:g}]"

    texts = ["".join(map(write, turn.content)) for turn in record.messages]
    assert next(images, None) is None
    return texts


def open_rows(media: Path, name: str, content: Any, format: str | None = None, **options: Any) -> Records:
    path = media / name
    if isinstance(content, pa.Table):
        pq.write_table(content, path)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read(path, format, **({"frames": 2} | options))


def said(
    *texts: str, keys: tuple[str, str, str, str] = ("role", "content", "user", "assistant")
) -> list[dict[str, str]]:
    return [{keys[0]: keys[2 + n % 2], keys[1]: text} for n, text in enumerate(texts)]


FROM = ("from", "value", "human", "gpt")
A, B = "[a.mp4@0.6][a.mp4@1.3]", "[b.avi@0.3][b.avi@0.6]"
PART = {"type": "video_url", "video_url": {"url": "a.mp4"}}
WHY = {"type": "text", "text": "Why?"}
ASK = "Answer with the option's letter from the given choices directly."

FORMS = {
    "sharegpt": (
        "t.json",
        [{"messages": said("Is <video> or <video>?", "x"), "videos": ["a.mp4", "b.avi"]}],
        [f"Is {A} or {B}?", "x"],
    ),
    "sharegpt with images": (
        "t.json",
        [{"messages": said("<image><video><image>?", "x"), "videos": ["a.mp4"], "images": ["red.png", "red.png"]}],
        [f"[red.png]{A}[red.png]?", "x"],
    ),
    "sharegpt, one video": (
        "t.json",
        [{"conversations": said("<video>?", "x", keys=FROM), "videos": "a.mp4"}],
        [f"{A}?", "x"],
    ),
    "ms_swift": ("t.jsonl", {"messages": said("<video>Why?", "x"), "videos": ["a.mp4"]}, [f"{A}Why?", "x"]),
    "ms_swift with objects": (
        "t.jsonl",
        {"messages": said("<video><image>?", "x"), "videos": [{"path": "a.mp4", "bytes": None}], "images": ["red.png"]},
        [f"{A}[red.png]?", "x"],
    ),
    "qwen_vl": (
        "t.json",
        [{"video": "a.mp4", "conversations": said("<video>\nWhy?", "x", keys=FROM)}],
        [f"{A}Why?", "x"],
    ),
    "qwen_vl as LLaVA says it": (
        "t.json",
        [{"video": "a.mp4", "conversations": said("<image>\nWhy?", "x", keys=FROM)}],
        [f"{A}Why?", "x"],
    ),
    "qwen_vl with images": (
        "t.jsonl",
        {
            "video": ["a.mp4", "b.avi"],
            "image": "red.png",
            "conversations": said("<video><image>\n<video>?", "<video>", keys=FROM),
        },
        [f"{A}[red.png]{B}?", "<video>"],
    ),
    "openai_messages": (
        "t.jsonl",
        {"messages": [{"role": "user", "content": [PART, {"type": "text", "text": "?"}]}], "answer": "x"},
        [f"{A}?"],
    ),
    "openai_messages by number": (
        "t.jsonl",
        {
            "messages": said("<image 1> <video_2><video 1>"),
            "answer": "x",
            "video_1": "a.mp4",
            "video_2": "b.avi",
            "image_1": "red.png",
        },
        [f"[red.png] {B}{A}"],
    ),
    "openai_finetune": (
        "t.jsonl",
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "?"}, PART]},
                *said("x", keys=("role", "content", "assistant", "")),
            ]
        },
        [f"?{A}", "x"],
    ),
    "vmcq": (
        "t.jsonl",
        {
            "question": "<video 1> or <image 1>?",
            "options": ["a", "<video 2>"],
            "answer": "A",
            "videos": ["a.mp4", "b.avi"],
            "image_1": "red.png",
        },
        [f"{A} or [red.png]?\nA. a\nB. {B}\n{ASK}"],
    ),
    "lmudata": ("t.tsv", "index\tvideo\tquestion\tanswer\n1\ta\tWhy?\tx\n", [f"{A}Why?"]),
    "lmudata by path": (
        "t.tsv",
        "index\tvideo\tvideo_path\tquestion\tanswer\n1\tzzz\t./a.mp4\tWhy?\tx\n",
        [f"{A}Why?"],
    ),
    **{
        f"table, {column}": ("t.csv", f"{column},question,answer\na.mp4,Why?,x\n", [f"{A}Why?"])
        for column in ("video", "video_path", "clip", "clip_path")
    },
    "table, JSON Lines": ("t.jsonl", {"clip": "a.mp4", "question": "Why?", "answer": "x"}, [f"{A}Why?"]),
    **{
        f"trl, {key}": (
            "t.jsonl",
            {"messages": [{"role": "user", "content": [{"type": "video", key: "a.mp4"}, WHY]}, *said("", "x")[1:]]},
            [f"{A}Why?", "x"],
        )
        for key in ("video", "url", "path")
    },
    "trl, videos of the row": (
        "t.jsonl",
        {
            "messages": [
                {"role": "user", "content": [{"type": "video"}, {"type": "image"}, {"type": "video"}, WHY]},
                *said("", "x")[1:],
            ],
            "videos": ["a.mp4", "b.avi"],
            "images": ["red.png"],
        },
        [f"{A}[red.png]{B}Why?", "x"],
    ),
    "trl, a clip": (
        "t.jsonl",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "video", "video": "a.mp4", "video_start": 0.5, "video_end": 1}, WHY],
                },
                *said("", "x")[1:],
            ]
        },
        ["[a.mp4@0.7][a.mp4@0.9]Why?", "x"],
    ),
    "openai_messages, video": (
        "t.jsonl",
        {"messages": [{"role": "user", "content": [{"type": "video", "video": "a.mp4"}, WHY]}], "answer": "x"},
        [f"{A}Why?"],
    ),
    "openai_messages, a clip": (
        "t.jsonl",
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "video_url", "video_url": {"url": "a.mp4", "start": 1, "end": None}}, WHY],
                }
            ],
            "answer": "x",
        },
        ["[a.mp4@1.3][a.mp4@1.6]Why?"],
    ),
    "table with markers": (
        "t.csv",
        'video,image,question,answer\na.mp4,red.png,"<video>, <image 1>?",x\n',
        [f"{A}, [red.png]?"],
    ),
}


@pytest.mark.parametrize("form", defer(FORMS, 6))
def test_frames_stand_where_the_video_stood(media: Path, form: str) -> None:
    name, content, turns = FORMS[form]
    records = open_rows(media, name, content)
    (record,) = records
    assert records.rejects == []
    assert records.format == form.split()[0].rstrip(",")
    assert shown(record) == turns
    assert all(image.name is None and image.format == "JPEG" for image in record.images if image.time is not None)
    assert len({image.slot for image in (*record.images, *record.attachments)}) >= len(record.images) - 1
    assert not any("a.mp4" in str(value) for value in record.extra.values())


@pytest.mark.parametrize("form", FORMS)
def test_without_a_number_of_frames_the_row_is_refused_with_what_to_type(media: Path, form: str) -> None:
    name, content, _ = FORMS[form]
    records = open_rows(media, name, content, frames=None)
    assert list(records) == []
    (reject,) = records.rejects
    assert reject.code == "media.unsupported"
    assert str(reject).endswith("--frames 8")


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_told_by_its_content_alone(media: Path, form: str) -> None:
    name, content, _ = FORMS[form]
    open_rows(media, name, content)
    assert guess(media / name)[0] == form.split()[0].rstrip(",")


def test_images_of_parquet_may_have_videos_beside_them(media: Path) -> None:
    video = {"bytes": (media / "a.mp4").read_bytes(), "path": None}
    table = pa.table({"messages": [said("<image><video>", "x")], "images": [["red.png"]], "videos": [[video]]})
    (record,) = open_rows(media, "t.parquet", table, "sharegpt")
    assert [image.time for image in record.images] == [None, 0.6, 1.3]
    assert record.images[1].source_name is None


def test_a_question_names_the_frames_by_their_slots_so_that_a_prompt_can_word_it_anew(media: Path) -> None:
    _, content, _ = FORMS["vmcq"]
    (plain,) = open_rows(media, "t.jsonl", content)
    assert plain.question == "<image 2><image 3> or <image 1>?"
    assert plain.options == ("a", "<image 4><image 5>")
    (worded,) = open_rows(media, "t.jsonl", content, prompt="evalscope")
    assert shown(worded)[-1].count("@") == 4
    (turn,) = open_rows(media, "t.jsonl", FORMS["openai_messages by number"][1], prompt_suffix=" Say it.")
    assert shown(turn)[0].endswith(f"{A} Say it.")


REFUSED = {
    "more markers": (
        "t.json",
        [{"messages": said("<video><video>", "x"), "videos": ["a.mp4"]}],
        "placeholder.count",
        "videos",
    ),
    "fewer markers": (
        "t.json",
        [{"messages": said("<video>", "x"), "videos": ["a.mp4", "a.mp4"]}],
        "placeholder.count",
        "videos",
    ),
    "a marker alone": ("t.json", [{"messages": said("<video>", "x"), "videos": []}], "placeholder.count", "videos"),
    "no such file": (
        "t.json",
        [{"messages": said("<video>", "x"), "videos": ["none.mp4"]}],
        "video.missing",
        "videos[0]",
    ),
    "a way out": ("t.json", [{"messages": said("<video>", "x"), "videos": ["../a.mp4"]}], "video.path", "videos[0]"),
    "an address": ("t.csv", "video,question,answer\nhttp://127.0.0.1/a.mp4,Why?,x\n", "video.remote", "video"),
    "no video": ("t.csv", "video,question,answer\nred.png,Why?,x\n", "video.decode", "video"),
    "a sound": (
        "t.json",
        [{"messages": said("<video>", "x"), "videos": ["a.mp4"], "audios": ["a.mp3"]}],
        "media.unsupported",
        "audios",
    ),
    "a marker of a sound": (
        "t.json",
        [{"messages": said("<video><audio>", "x"), "videos": ["a.mp4"]}],
        "media.unsupported",
        "messages[0].content",
    ),
    "videos in two fields": (
        "t.json",
        [{"messages": said("<video>", "x"), "videos": ["a.mp4"], "video": "b.avi", "images": []}],
        "media.unsupported",
        "video",
    ),
    **{
        f"a clip, {start} to {end}": (
            "t.jsonl",
            {"messages": [{"role": "user", "content": [{**PART, "video_url": clip}]}], "answer": "x"},
            "video.clip",
            "messages[0].content[0].video_url",
        )
        for start, end in ((2.5, None), (1, 1), (-1, None), (1, 0.5), ("x", None), (None, True), (None, "inf"))
        for clip in [{"url": "a.mp4", "start": start, "end": end}]
    },
    "TRL's video that no row has": (
        "t.jsonl",
        {"messages": [{"role": "user", "content": [{"type": "video"}]}, *said("", "x")[1:]]},
        "placeholder.count",
        "videos",
    ),
    "TRL's video that no part shows": (
        "t.jsonl",
        {"messages": [{"role": "user", "content": [{"type": "image", "image": "red.png"}]}], "videos": ["a.mp4"]},
        "placeholder.count",
        "videos",
    ),
    "a part without a path": (
        "t.jsonl",
        {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": {"file": 3}}]}], "answer": "x"},
        "messages.part",
        "messages[0].content[0].video_url",
    ),
    "a video that no text shows": (
        "t.jsonl",
        {"question": "<video 1>?", "options": ["a", "b"], "answer": "A", "videos": ["a.mp4", "b.avi"]},
        "placeholder.count",
        "videos[1]",
    ),
    "a video of no message": (
        "t.jsonl",
        {"messages": said("Why?"), "answer": "A", "video_1": "a.mp4"},
        "placeholder.count",
        "video_1",
    ),
    "a placeholder of no video": (
        "t.jsonl",
        {"question": "<video 2>?", "options": ["a", "b"], "answer": "A", "video_1": "a.mp4"},
        "placeholder.no_image",
        "question",
    ),
    "a placeholder and no video": (
        "t.jsonl",
        {"question": "<video 2>?", "options": ["a", "b"], "answer": "A"},
        "placeholder.no_image",
        "question",
    ),
    "a placeholder of a sound": (
        "t.jsonl",
        {"question": "<audio 1>?", "options": ["a", "b"], "answer": "A", "video_1": "a.mp4"},
        "media.unsupported",
        "question",
    ),
    "the first form of Qwen-VL": (
        "t.json",
        [
            {
                "video": "a.mp4",
                "conversations": said(
                    "Picture 1: <img>red.png</img>\n?", "x", keys=("from", "value", "user", "assistant")
                ),
            }
        ],
        "media.unsupported",
        "video",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_row_whose_videos_cannot_be_shown_is_refused(media: Path, case: str) -> None:
    name, content, code, field = REFUSED[case]
    records = open_rows(media, name, content)
    assert list(records) == []
    (reject,) = records.rejects
    assert (reject.code, reject.field) == (code, field)


def test_a_format_without_videos_does_not_ask_for_frames(media: Path) -> None:
    content = [{"conversations": said("Q", "A", keys=FROM), "video": "a.mp4"}]
    for frames in (None, 2):
        records = open_rows(media, "t.json", content, "llava", frames=frames)
        assert list(records) == []
        assert "Leave the row out" in str(records.rejects[0])


def test_a_remark_counts_videos_with_fewer_frames(media: Path) -> None:
    rows = "video,question,answer\nshort.mp4,Why?,x\nshort.mp4,How?,x\na.mp4,Who?,x\n"
    records = open_rows(media, "t.csv", rows, frames=8)
    assert [len(record.images) for record in records] == [2, 2, 8]
    assert records.warnings == {"a video has fewer frames than requested; all of them are used": 2}
    assert [len(record.images) for record in open_rows(media, "t.csv", rows, frames=None, fps=1.0)] == [1, 1, 2]


def test_videos_that_no_marker_shows_stand_in_front_in_ms_swift(media: Path) -> None:
    row = {"messages": said("Why?", "x"), "videos": ["a.mp4"], "images": ["red.png"]}
    records = open_rows(media, "t.jsonl", row, "ms_swift")
    assert [shown(record) for record in records] == [[f"{A}[red.png]Why?", "x"]]
    assert "videos without a <video> of their own come before the first message" in records.warnings


def test_an_fps_of_a_part_is_named_and_not_followed(media: Path) -> None:
    part = {"type": "video_url", "video_url": {"url": "a.mp4", "fps": 1.0}}
    records = open_rows(media, "t.jsonl", {"messages": [{"role": "user", "content": [part]}], "answer": "x"})
    assert [shown(record) for record in records] == [[A]]
    assert any("fps" in remark for remark in records.warnings)


@pytest.mark.parametrize("mapping", [("video=clip",), ("video=meta.clip",)])
def test_a_column_is_named_for_videos(media: Path, mapping: tuple[str, ...]) -> None:
    row = {"clip": "a.mp4", "meta": {"clip": "a.mp4"}, "question": "Why?", "answer": "x"}
    assert [shown(record) for record in open_rows(media, "t.jsonl", row, mapping=mapping)] == [[f"{A}Why?"]]
    records = open_rows(media, "t.jsonl", row, mapping=mapping, frames=None)
    assert list(records) == []
    assert str(records.rejects[0]).endswith("--frames 8")


def test_a_column_may_hold_several_videos_and_several_columns_one_each(media: Path) -> None:
    row = {"one": ["a.mp4", "b.avi"], "two": "short.mp4", "question": "<video 2> then <video 1>?", "answer": "x"}
    (record,) = open_rows(media, "t.jsonl", row, mapping=("video=one", "video=two"))
    assert shown(record) == [f"[short.mp4@0][short.mp4@0.1]{B} then {A}?"]


def test_predictions_need_no_video(media: Path) -> None:
    rows = "id,video,question,prediction\n1,none.mp4,Why?,yes\n2,a.mp4,Why?,no\n"
    (one, two) = open_rows(media, "t.csv", rows, "table", frames=None)
    assert (one.prediction, one.images, one.extra) == ("yes", (), {"video": "none.mp4"})
    records = open_rows(media, "t.csv", rows, "table")
    (one, two) = records
    assert (one.images, one.extra, len(two.images)) == ((), {"video": "none.mp4"}, 2)
    assert records.warnings == {"a video is missing; its row has a prediction and is kept without it": 1}


def _context(media: Path) -> Context:
    return Context(ImageLoader.within([media], sampling=FrameSampling(frames=2)), "x")


def test_videos_are_taken_out_of_the_first_field_that_holds_any(media: Path) -> None:
    context = _context(media)
    fields = {"videos": [], "video": "a.mp4", "note": 1}
    assert take_videos(fields, context) == [("video", "a.mp4")]
    assert (fields, context.videos) == ({"videos": [], "note": 1}, {"video"})
    assert take_videos(fields, context) == ()


def test_numbered_videos_are_columns_or_else_a_list(media: Path) -> None:
    context = _context(media)
    columns = {"video_2": "b.avi", "video_1": "", "videos": ["a.mp4"], "video_x": "c"}
    assert list_numbered_videos(columns, context) == {2: ("video_2", "b.avi")}
    assert list_numbered_videos({"videos": ["a.mp4", None]}, context) == {1: ("videos[0]", "a.mp4")}


def test_a_video_that_is_shown_twice_is_loaded_once(media: Path) -> None:
    videos = ShownVideos([("video", "a.mp4")], {}, _context(media))
    assert videos.expand("<video 1> and <video_1>") == "<image 1><image 2> and <image 1><image 2>"
    assert len(videos.images) == 2
    videos.require_shown()
    with pytest.raises(RowError, match="no video 3"):
        videos.expand("<video 3>")
    assert videos.expand("<video> <video>") == "<video> <video>"
