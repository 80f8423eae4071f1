"""Plain conversations are read in blocks: the dataset is, byte for byte, the one that records give."""

import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from mmconvert.core.errors import Error
from mmconvert.core.rows import Where
from mmconvert.dataset import shards
from mmconvert.dataset.dataset import open_dataset
from mmconvert.formats import llava, openai_finetune, openai_messages
from mmconvert.io import json_array, json_lines
from mmconvert.pipeline import part_writer, parts, plain_blocks, read
from mmconvert.pipeline.convert import ReadOptions, Summary, WriteOptions, convert
from mmconvert.pipeline.inputs import Input
from support.records import image_bytes

LINE_FORMATS = {"openai_messages": openai_messages.FORMAT, "openai_finetune": openai_finetune.FORMAT}
FORMATS = {**LINE_FORMATS, "llava": llava.FORMAT}
TEXTS = st.sampled_from(
    [
        "",
        "a",
        "a longer question, with a comma",
        "<image 1>",
        "<image>",
        "你好 😀",
        'a "quote"',
        "\\u0022",
        "a\nb\tc",
        "\x7f",
    ]
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXTS}),
    min_size=1,
    max_size=3,
)
IDS = st.integers(0, 400).map(lambda number: str(number) if number % 3 else f"{number:09d}")
PLAIN = st.one_of(
    st.fixed_dictionaries({"id": IDS, "messages": MESSAGES}, optional={"answer": TEXTS}),
    st.fixed_dictionaries({"messages": MESSAGES}, optional={"id": IDS}),
)
OTHERS = st.one_of(
    st.fixed_dictionaries({"messages": MESSAGES}),
    st.fixed_dictionaries(
        {"id": st.sampled_from(["", " ", " 7 ", 7, None]), "messages": MESSAGES},
        optional={"answer": st.sampled_from([None, 3, ["a", "b"], "c"]), "split": TEXTS},
    ),
    st.fixed_dictionaries({"id": st.just("x"), "messages": st.sampled_from([[], "hello", [{"role": "tool"}]])}),
)
RAW = st.sampled_from(
    [
        "",
        "  ",
        "{bad",
        '{"id": "1", "id": "2", "messages": [{"role": "user", "content": "twice"}]}',
        '{"id": "1", "\\u0069d": "2", "messages": [{"role": "user", "content": "twice"}]}',
        '{"id": "d", "messages": [{"role": "user", "content": "a", "content": "\\u0022\\u0022"}]}',
        '{"id": "e", "messages": [{"role": "user", "content": "half \\ud800"}]}',
        '{"id": "f", "messages": [{"role": "user", "content": "\\u003cimage 1\\u003e"}]}',
        '{"id": "g", "messages": [{"role": "developer", "content": "x"}]}',
        '{"id": "h", "messages": [{"role": "user", "content": "x"}]} {"id": "i"}',
        '[{"id": "j"}]',
    ]
)
LINES = st.one_of(
    st.lists(st.one_of(PLAIN, OTHERS, RAW), min_size=1, max_size=20),
    st.lists(st.fixed_dictionaries({"messages": MESSAGES}, optional={"id": IDS}), min_size=1, max_size=40),
    # Among many plain rows, one that is not.
    st.tuples(st.lists(PLAIN, max_size=20), st.one_of(OTHERS, RAW), st.lists(PLAIN, max_size=20)).map(
        lambda found: [*found[0], found[1], *found[2]]
    ),
)


def write(lines: Sequence[dict | str], file: Path, *, ascii_only: bool, end: str) -> None:
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=ascii_only) for line in lines]
    file.write_bytes((end.join(texts) + end).encode(errors="surrogatepass"))


def make_small(patch: pytest.MonkeyPatch, part: int, batch: int) -> None:
    """Let parts hold so many bytes, and batches so many records."""
    for name in ("SMALL_FILE", "SHORT_LIST", "PART_BYTES"):
        patch.setattr(parts, name, part)
    patch.setattr(part_writer, "_CHUNK_RECORDS", max(1, batch // 2))
    patch.setattr(shards, "BATCH_RECORDS", batch)


def convert_both_ways(source: Input, work: Path, how: ReadOptions, **where: object) -> tuple[object, object]:
    """Convert with blocks and without; give everything that is written and said of each."""
    found = []
    own = FORMATS[str(how.format)]
    for name, plugin in (("blocks", own), ("records", replace(own, plain=None))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                read,
                "load",
                lambda group, wanted, plugin=plugin, load=read.load: (
                    plugin if group == "mmconvert.formats" else load(group, wanted)
                ),
            )
            output = work / name
            try:
                summary: object = replace_paths(convert([source], output, how, WriteOptions(**where)), name)  # type: ignore[arg-type]
            except Error as error:
                summary = str(error).replace(name, "")
            rejects = output.with_name(f"{name}.rejects.jsonl")
            written = {path.name: path.read_bytes() for path in sorted(output.rglob("*.parquet"))}
            found.append((summary, written, rejects.read_text() if rejects.exists() else None))
    return found[0], found[1]


def replace_paths(summary: Summary, name: str) -> str:
    return str({key: value for key, value in asdict(summary).items() if key != "seconds"}).replace(name, "")


@given(
    lines=LINES,
    ascii_only=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
    block=st.sampled_from([40, 300, 1 << 17]),
    part=st.sampled_from([300, 1 << 20]),
    batch=st.sampled_from([3, 7, 5000]),
    format=st.sampled_from([*LINE_FORMATS]),
    options=st.sampled_from(
        [
            {},
            {"dataset": "d", "task": "caption"},
            {"dataset": "half \udce4"},
            {"max_rows": 20},
            {"limit": 5},
            {"where": "messages contains 'a'"},
            {"where": "len(messages) > 1 and task != 'vqa' or id like '%7'"},
            {"where": "answer is null or source.row < 5", "max_rows": 20},
            {"where": "len(images) = 0 and extra.x is null"},
            {"where": "1 = 1", "task": "caption"},
        ]
    ),
    prefix=st.sampled_from(["", "other/"]),
    fail=st.booleans(),
    view=st.sampled_from(["eval", "sft"]),
)
def test_blocks_give_the_bytes_and_the_words_of_records(
    lines, ascii_only, end, block, part, batch, format, options, prefix, fail, view
):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "_BLOCK", block)
        make_small(patch, part, batch)
        file = Path(folder, "in.jsonl")
        write(lines, file, ascii_only=ascii_only, end=end)
        source, how = Input(file, id_prefix=prefix), ReadOptions(format=format, **options)
        ours, expected = convert_both_ways(source, Path(folder), how, workers=1, fail_on_bad=fail, view=view)
        assert ours == expected


def test_plain_rows_do_become_blocks(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    row = {"messages": [{"role": "user", "content": "a"}], "answer": "b"}
    write([{"id": str(number), **row} for number in range(50)], file, ascii_only=True, end="\n")
    found = list(read.Records(Input(file), ReadOptions(format="openai_messages")).read_blocks())
    assert [len(block.chats) for block in found] == [50]
    chosen = read.Records(Input(file), ReadOptions(format="openai_messages", where="source.row in (3, 7, 49)"))
    (block,) = chosen.read_blocks()
    assert [block.find_place(number).line for number in range(3)] == [4, 8, 50]
    assert (chosen.rows_read, chosen.counted, chosen.warnings[read.UNMATCHED]) == (50, 3, 47)


def test_a_row_that_is_more_stops_no_block_before_or_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "_BLOCK", 400)
    file = tmp_path / "in.jsonl"
    rows: list[dict | str] = [{"id": str(n), "messages": [{"role": "user", "content": "a"}]} for n in range(50)]
    rows[20] = {"id": "20", "messages": [{"role": "user", "content": "a"}], "answer": 5}
    write(rows, file, ascii_only=True, end="\n")
    found = list(read.Records(Input(file), ReadOptions(format="openai_messages")).read_blocks())
    ids = [[one.id] if hasattr(one, "id") else [chat.id for chat in one.chats] for one in found]
    assert [*chain(*ids)] == [str(number) for number in range(50)]
    assert len(ids[0]) > 1 < len(ids[-1])


def test_a_format_made_of_this_one_with_records_of_its_own_is_asked_for_them(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    write([{"id": "1", "messages": [{"role": "user", "content": "a"}]}], file, ascii_only=True, end="\n")
    plugin = tmp_path / "own.py"
    plugin.write_text(
        "from dataclasses import replace\n"
        "from mmconvert.formats.openai_messages import FORMAT\n"
        "OWN = replace(FORMAT, records=lambda row, context: ["
        "replace(record, category='own') for record in FORMAT.records(row, context)])\n"
    )
    convert([Input(file)], tmp_path / "out", ReadOptions(format=f"{plugin}@OWN"), WriteOptions())
    assert [record.category for record in open_dataset(tmp_path / "out").records()] == ["own"]


MARKED = st.sampled_from(
    [
        "<image>",
        "<image>\n",
        "<image>\n\nWhat?",
        "<image>What is <b>this</b>?",
        "What? <image>",
        "<image><image>",
        "<\\image> and no image",
        "<video>",
        "",
        "你好 😀",
        'a "quote" \\u0022',
    ]
)
SPOKEN = st.lists(
    st.fixed_dictionaries({"from": st.sampled_from(["human", "gpt", "system", "user", "assistant"]), "value": MARKED}),
    min_size=1,
    max_size=3,
)
PLACES = [
    "a.png",
    "sub/b.png",
    "./a.png",
    "sub/../a.png",
    "missing.png",
    "text.png",
    "../a.png",
    "",
    "https://a.b/c.png",
]
SHOWN = st.fixed_dictionaries({"image": st.sampled_from(["a.png", "sub/b.png"])}).flatmap(
    lambda row: st.fixed_dictionaries(
        {
            "conversations": st.builds(
                lambda text, turns: [{"from": "human", "value": f"<image>{text}"}, *turns],
                st.sampled_from(["", "\n", "\nWhat?", "Why?"]),
                st.lists(st.sampled_from([{"from": "gpt", "value": "a"}, {"from": "human", "value": ""}]), max_size=2),
            ),
            **{name: st.just(value) for name, value in row.items()},
        },
        optional={"id": st.sampled_from(["7", "x", " y ", "", 0, 5, None, 1 << 80])},
    )
)
ELEMENTS = st.one_of(
    SHOWN,
    SHOWN,
    st.fixed_dictionaries({"conversations": SPOKEN}, optional={"image": st.sampled_from(PLACES), "id": IDS}),
    st.fixed_dictionaries({"conversations": SPOKEN}, optional={"image": st.sampled_from([None, 5, ["a.png"]])}),
    st.fixed_dictionaries({"conversations": SPOKEN, "split": TEXTS}),
    st.sampled_from(
        [
            '{"id": "1", "id": "2", "conversations": [{"from": "human", "value": "twice"}]}',
            '{"id": 1.0, "conversations": [{"from": "human", "value": "a"}]}',
            '{"image": "a.png", "conversations": [{"from": "human", "value": "\\u003cimage\\u003e"}]}',
            '{"conversations": [{"from": "human", "value": "half \\ud800"}]}',
            '{"conversations": [{"from": "human", "value": "a"}], "deep": [[[[[[[[[[1]]]]]]]]]]}',
            '[{"conversations": [{"from": "human", "value": "packed"}]}, 3, {"conversations": []}]',
            "[1, 2]",
            "3",
            "{}",
            '{"conversations": [{"from": "human", "value": NaN}]}',
        ]
    ),
)


@given(
    elements=st.one_of(
        st.lists(ELEMENTS, min_size=1, max_size=12),
        st.lists(SHOWN, min_size=1, max_size=60),
        st.tuples(st.lists(SHOWN, max_size=20), ELEMENTS, st.lists(SHOWN, max_size=20)).map(
            lambda found: [*found[0], found[1], *found[2]]
        ),
    ),
    gap=st.sampled_from(["", " ", "\n", "\n  \n"]),
    indent=st.sampled_from([None, 1]),
    end=st.sampled_from(["]", "\n]\n", "", ", ]", "] 3"]),
    name=st.sampled_from(["in.json", "in.jsonl"]),
    block=st.sampled_from([64, 700, 1 << 20]),
    part=st.sampled_from([500, 1 << 20]),
    batch=st.sampled_from([3, 5000]),
    most=st.sampled_from([1, 300, 4 << 20]),
    options=st.sampled_from(
        [
            {},
            {"dataset": "d", "task": "caption"},
            {"max_rows": 30},
            {"keep_urls": True},
            {"max_image_bytes": 100},
            {"limit": 5},
            {"where": "len(images) = 1 and messages contains 'a'"},
            {"where": "image_info[0].name = 'a.png' or source.row < 5"},
        ]
    ),
    prefix=st.sampled_from(["", "other/"]),
    fail=st.booleans(),
    view=st.sampled_from(["eval", "sft"]),
)
def test_blocks_of_an_array_give_the_bytes_and_the_words_of_records(
    elements, gap, indent, end, name, block, part, batch, most, options, prefix, fail, view
):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "BLOCK", block)
        patch.setattr(plain_blocks, "_MOST_IMAGE_BYTES", most)
        make_small(patch, part, batch)
        make_images(Path(folder))
        file = Path(folder, name)
        texts = [one if isinstance(one, str) else json.dumps(one, indent=indent) for one in elements]
        file.write_text(f"[{gap}{f'{gap},{gap}'.join(texts)}{end}")
        source, how = Input(file, id_prefix=prefix), ReadOptions(format="llava", **options)
        ours, expected = convert_both_ways(source, Path(folder), how, workers=1, fail_on_bad=fail, view=view)
        assert ours == expected


def make_images(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "a.png").write_bytes(image_bytes("PNG"))
    (folder / "sub" / "b.png").write_bytes(image_bytes("JPEG", 1))
    (folder / "text.png").write_text("no image")


def test_rows_with_an_image_do_become_blocks_but_for_one_that_is_refused(tmp_path: Path) -> None:
    make_images(tmp_path)
    talk = [{"from": "human", "value": "<image>\nWhat?"}, {"from": "gpt", "value": "A."}]
    rows = [{"id": "x", "image": "a.png", "conversations": talk} for _ in range(100)]
    rows[50] = {**rows[50], "image": "missing.png"}
    file = tmp_path / "in.json"
    file.write_text(json.dumps(rows, indent=1))
    records = read.Records(Input(file), ReadOptions(format="llava"))
    found = list(records.read_blocks())
    blocks = [one for one in found if hasattr(one, "chats")]
    assert sum(len(block.chats) for block in blocks) > 75
    rows_read = [chat.row for one in found for chat in getattr(one, "chats", ())]
    assert rows_read == sorted(rows_read)
    expected = [where.line for where in places(file)]
    assert [block.find_place(n).line for block in blocks for n in range(len(block.chats))] == [
        expected[row] for row in rows_read
    ]
    assert [(reject.where.row, reject.where.line, reject.code) for reject in records.rejects] == [
        (50, expected[50], "image.missing")
    ]


def places(file: Path) -> list[Where]:
    return [row.where for row in json_array.rows(file)]
