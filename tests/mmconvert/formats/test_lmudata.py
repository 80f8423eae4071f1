"""LMUData tables: the benchmarks of the kit's own list, rotated rows, dialogs, where images lie."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from mmconvert.core.errors import UsageError
from mmconvert.core.record import Record, Turn
from mmconvert.core.text.turns import build_plain_prompt_parts, replace_prompt
from mmconvert.pipeline.convert import read, write
from mmconvert.pipeline.inputs import plan_inputs
from mmconvert.plugins.format import Target
from mmscore.core.predictions.load import open_rows
from mmscore.core.select_recipe import choose_recipe, gather_facts
from support.datasets_on_disk import make_image
from support.numbered_images import answered, asked


def cell(shade: int) -> str:
    return base64.b64encode(make_image(shade)).decode()


def listed(*items: str) -> str:
    return str(list(items))


def table(path: Path, header: str, *rows: tuple[str, ...]) -> Path:
    lines = ["\t".join(row) for row in (tuple(header.split()), *rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def parts(record: Record) -> list[list[str]]:
    return [[part.text if part.type == "text" else "<picture>" for part in turn.content] for turn in record.messages]


CHOICE = ("What is it?", "cat", "dog", "", "")

BENCHMARKS = {
    **{
        f"MMBench_DEV_{tongue}": (
            "index question hint A B C D answer category l2-category split image",
            ("7", "What is it?", "Look.", "cat", "dog", "", "", "B", "animal", "perception", "dev", cell(1)),
            {"task": "multiple_choice", "answer": "B", "hint": "Look.", "l2_category": "perception", "split": "dev"},
        )
        for tongue in ("CN", "EN")
    },
    **{
        f"MMBench_TEST_{tongue}": (
            "index question hint A B C D category l2-category split image",
            ("1000007", *CHOICE[:1], "", *CHOICE[1:], "animal", "perception", "test", cell(1)),
            {"task": "multiple_choice", "answer": None, "sample": "7", "variant": 1, "group": "7"},
        )
        for tongue in ("CN", "EN")
    },
    "CCBench": (
        "index question A B C D answer category image",
        ("7", *CHOICE, "A", "food", cell(1)),
        {"task": "multiple_choice", "answer": "A", "variant": 0, "category": "food"},
    ),
    "SEEDBench_IMG": (
        "index question A B C D answer category image",
        ("7", *CHOICE, "A", "Scene", cell(1)),
        {"task": "multiple_choice", "answer": "A", "variant": None},
    ),
    "MME": (
        "index question answer category image_path image",
        ("7", "Is it a cat? Please answer yes or no.", "Yes", "OCR", "OCR/0001.jpg", cell(1)),
        {"task": "yes_no", "answer": "Yes", "category": "OCR", "group": "OCR/0001.jpg"},
    ),
    "CORE_MM": (
        "index question category image_path image",
        ("7", "Why is that?", "Deductive", listed("a.jpg", "b.jpg"), listed(cell(1), cell(2))),
        {"task": "vqa", "answer": None, "answers": ()},
    ),
    "MMVet": (
        "index question answer category image",
        ("7", "What is written?", "a<AND>b", "ocr,math", cell(1)),
        {"task": "vqa", "answer": "a<AND>b", "category": "ocr,math"},
    ),
    "MMMU_DEV_VAL": (
        "index id question A B C answer category l2-category split image_path image",
        (
            "7", "validation_Art_1", "<image 2> or <image 1>?", "cat", "", "dog", "C", "Art", "Art and Design",
            "validation", listed("a.jpg", "b.jpg"), listed(cell(1), cell(2)),
        ),
        {"task": "multiple_choice", "answer": "C", "options": ("cat", None, "dog"), "split": "validation"},
    ),
    "COCO_VAL": (
        "index answer image",
        ("7", listed("A cat sits.", "A sitting cat."), cell(1)),
        {"task": "caption", "question": None, "answer": None, "answers": ("A cat sits.", "A sitting cat.")},
    ),
    **{
        name: (
            "index question answer image",
            ("7", "Who wrote it?", listed("Ann", "ann lee"), cell(1)),
            {"task": "vqa", "answer": "Ann", "answers": ("Ann", "ann lee")},
        )
        for name in ("OCRVQA_TEST", "OCRVQA_TESTCORE", "TextVQA_VAL", "VCR_EN_EASY_ALL", "VCR_ZH_HARD_100")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_row_of_each_benchmark_of_the_kits_list_has_its_task_and_columns(name: str, tmp_path: Path) -> None:
    header, row, expected = BENCHMARKS[name]
    records = read(table(tmp_path / f"{name}.tsv", header, row))
    (record,) = records
    assert (records.format, records.rejects, record.id, record.dataset) == ("lmudata", [], row[0], name)
    assert {field: getattr(record, field) for field in expected} == expected
    shown = sum(part == "<picture>" for part in parts(record)[0])
    assert shown == len(record.images) == (2 if row[-1].startswith("[") else 1)


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (cell(1), None),
        (f" {cell(1)} ", None),
        (cell(1).rstrip("="), None),
        ("data:image/png;base64," + cell(1), None),
        (listed(cell(1)), None),
        (cell(1)[:60] + "?" + cell(1)[60:], "image.base64"),
        (cell(1)[:-40], "image.truncated"),
        (base64.b64encode(b"no picture at all" * 9).decode(), "image.format"),
        ("7" * 80, "image.reference"),
        (cell(1)[:80] + "\udcff" + cell(1)[80:], "text.encoding"),
    ],
)
def test_an_image_is_read_however_its_base64_is_written(written: str, code: str | None, tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    text = f"index\tquestion\tanswer\timage\n1\tWhy?\ta\t{written}\n2\tWhy?\ta\t{cell(2)}\n"
    path.write_bytes(text.encode(errors="surrogateescape"))
    records = read(path)
    assert [record.images[0].bytes for record in records] == [*([make_image(1)] if code is None else []), make_image(2)]
    assert [(reject.code, reject.field) for reject in records.rejects] == ([] if code is None else [(code, "image")])


def test_numbered_images_stand_where_the_question_names_them(tmp_path: Path) -> None:
    header, row, _ = BENCHMARKS["MMMU_DEV_VAL"]
    (record,) = read(table(tmp_path / "MMMU_DEV_VAL.tsv", header, row))
    assert parts(record)[0][:4] == ["<picture>", " or ", "<picture>", parts(record)[0][3]]
    assert [(image.slot, image.name, image.bytes) for image in record.images] == [
        (2, "b.jpg", make_image(2)),
        (1, "a.jpg", make_image(1)),
    ]


def rotations(folder: Path, name: str, *indices: str, header: str = "", heads: tuple[str, ...] = ()) -> Path:
    options = ["red", "green", "blue", "grey"]
    rows = []
    for turn, index in enumerate(indices):
        image = cell(1) if turn == 0 else indices[0]
        row = (index, "Which?", *options[turn:], *options[:turn], "ABCD"[-turn % 4], image)
        rows.append((*row, *heads[turn : turn + 1]))
    return table(folder / name, f"index question A B C D answer image {header}", *rows)


@pytest.mark.parametrize(
    ("name", "indices", "heads", "places"),
    [
        ("my_circular.tsv", ("7", "1000007", "2000007", "3000007"), (), [("7", 0), ("7", 1), ("7", 2), ("7", 3)]),
        ("mine.tsv", ("7", "1000007", "3000007"), (), [("7", None), ("7", 1), ("7", 3)]),
        ("mine.tsv", ("7", "1000007", "2000007"), ("7", "7", "7"), [("7", 0), ("7", 1), ("7", 2)]),
        ("mine.tsv", ("2000007", "12000007"), ("2000007", "2000007"), [("2000007", 0), ("2000007", 1)]),
        ("mine.tsv", ("1000007", "1000008"), (), [("1000007", None), ("1000008", None)]),
    ],
)
def test_rotated_rows_name_their_question_and_turn(
    tmp_path: Path, name: str, indices: tuple[str, ...], heads: tuple[str, ...], places: list[tuple[str, int | None]]
) -> None:
    path = rotations(tmp_path, name, *indices, header="g_index" if heads else "", heads=heads)
    assert [(record.sample, record.variant) for record in read(path)] == places
    assert [record.id for record in read(path)] == list(indices)


def test_a_large_index_alone_makes_no_rotation(tmp_path: Path) -> None:
    rows = [
        ("7", "Which?", "red", "green", "A", cell(1)),
        ("1000007", "Who?", "red", "green", "A", cell(2)),
        ("2000007", "Which?", "red", "blue", "A", cell(3)),
        ("3000008", "Which?", "red", "green", "A", cell(4)),
    ]
    records = list(read(table(tmp_path / "large.tsv", "index question A B answer image", *rows)))
    assert [(record.sample, record.variant, record.group) for record in records] == [(r[0], None, None) for r in rows]


def test_the_demos_rotated_table_is_scored_in_circles_by_itself(repository: Path, tmp_path: Path) -> None:
    source = repository / "src/mmconvert/testing/demo/files/mmbench/Circular.tsv"
    path = tmp_path / "answered.tsv"
    header, *lines = source.read_text().splitlines()
    path.write_text("\n".join([f"{header}\tprediction", *(f"{line}\tA" for line in lines)]) + "\n")
    for table_file in (path, rotations(tmp_path, "plain.tsv", "7", "1000007", "2000007", "3000007")):
        rows = open_rows(table_file, required=("id",))
        assert choose_recipe(gather_facts(rows)).name == "mmbench_circular"


def test_a_rotated_table_goes_back_with_its_numbers(tmp_path: Path) -> None:
    path = rotations(tmp_path, "my_circular.tsv", "7", "1000007", "2000007", "3000007")
    back = tmp_path / "back/my_circular.tsv"
    back.parent.mkdir()
    assert write(read(path), Target(back), "lmudata") == []
    first, second = list(read(path)), list(read(back))
    assert [(r.id, r.sample, r.variant, r.options) for r in second] == [
        (r.id, r.sample, r.variant, r.options) for r in first
    ]


def test_replies_beside_the_images_are_predictions(tmp_path: Path) -> None:
    rows = [("1", "Which?", "red", cell(1), "blue"), ("2", "Which?", "red", cell(2), "")]
    path = table(tmp_path / "t.tsv", "index question answer image prediction", *rows)
    assert [record.prediction for record in read(path)] == ["blue", None]
    write(read(path), Target(tmp_path / "back.tsv"), "lmudata")
    assert [record.prediction for record in read(tmp_path / "back.tsv")] == ["blue", None]


def test_a_list_of_questions_gives_a_record_a_round_with_what_was_said_before(tmp_path: Path) -> None:
    questions = listed("<ImageHere><ImageHere>Same?", "And now<ImageHere>", "Sure?")
    path = table(
        tmp_path / "MMDU.tsv",
        "index question answer image",
        ("5", questions, listed("no", "yes", "quite"), listed(cell(1), cell(2), cell(3))),
    )
    first, second, third = read(path)
    assert [(r.id, r.group, r.round, r.task, r.dataset) for r in (first, second, third)] == [
        (f"5#{n}", "5", n, "chat", "MMDU") for n in range(3)
    ]
    assert parts(first) == [["<picture>", "<picture>", "Same?"]]
    assert parts(third) == [
        ["<picture>", "<picture>", "Same?"], ["no"], ["And now", "<picture>"], ["yes"], ["Sure?"],
    ]  # fmt: skip
    assert [len(r.images) for r in (first, second, third)] == [2, 3, 3]
    assert (second.question, second.answer, second.label) == ("And now<image 3>", "yes", '"yes"')
    assert [replace_prompt(r, build_plain_prompt_parts(r)).messages for r in (first, second, third)] == [
        r.messages for r in (first, second, third)
    ]


def test_lists_of_a_benchmark_without_conversations_stay_one_record(tmp_path: Path) -> None:
    row = ("5", listed("What?", "Why?"), listed("a", "b"), cell(1))
    path = table(tmp_path / "ChartQAPro.tsv", "index question answer image", row)
    (record,) = read(path)
    assert (record.id, record.round, record.question, record.answers) == ("5", None, row[1], ("a", "b"))


def test_a_dialog_without_markers_shows_its_images_first_and_without_answers_leaves_them_empty(
    tmp_path: Path,
) -> None:
    plain = ("5", listed("What?", "Why?"), listed("a", "b"), cell(1))
    path = table(
        tmp_path / "t.tsv", "index question answer image", plain, ("6", listed("<ImageHere>?", "So?"), "", cell(2))
    )
    records = list(read(path))
    assert [parts(record) for record in records] == [
        [["<picture>", "What?"]],
        [["<picture>", "What?"], ["a"], ["Why?"]],
        [["<picture>", "?"]],
        [["<picture>", "?"], [""], ["So?"]],
    ]


@pytest.mark.parametrize(
    ("question", "answer", "code"),
    [
        (listed("<ImageHere>?", "<ImageHere>!"), "", "placeholder.no_image"),
        (listed("<ImageHere>?", "So?"), listed("a"), "dialog.answers"),
        (listed("<ImageHere>?"), listed("<ImageHere>"), "dialog.answers"),
    ],
)
def test_a_dialog_that_does_not_fit_together_is_refused(tmp_path: Path, question: str, answer: str, code: str) -> None:
    rows = [("1", question, answer, cell(1)), ("2", "What?", "a", cell(2))]
    records = read(table(tmp_path / "t.tsv", "index question answer image", *rows))
    assert [record.id for record in records] == ["2"]
    assert [reject.code for reject in records.rejects] == [code]


@pytest.mark.parametrize("question", ["[sic] what [is it]", "[1, 2]", "['a', 'b']"])
def test_brackets_alone_make_no_dialog(tmp_path: Path, question: str) -> None:
    (record,) = read(table(tmp_path / "t.tsv", "index question answer image", ("1", question, "a", cell(1))))
    assert (record.question, record.round) == (question, None)


@pytest.fixture
def lmudata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "LMUData"
    for name in ("dog", "museum"):
        (root / "images/custom_mcq").mkdir(parents=True, exist_ok=True)
        (root / f"images/custom_mcq/{name}.jpg").write_bytes(make_image(len(name)))
    monkeypatch.setenv("LMUData", str(root))
    return root


def custom_mcq(root: Path, *paths: str) -> Path:
    rows = [
        (str(number), "Animals", "A", "What animal is this?", "Dog", "Cat", "Tiger", "Elephant", path)
        for number, path in enumerate(paths, 1)
    ]
    return table(root / "custom_mcq.tsv", "index category answer question A B C D image_path", *rows)


def test_absolute_and_relative_paths_below_the_kits_images_are_found(lmudata: Path) -> None:
    folder = lmudata / "images/custom_mcq"
    path = custom_mcq(lmudata, f"{folder}/dog.jpg", "museum.jpg", "custom_mcq/dog.jpg")
    records = read(path)
    assert [record.images[0].bytes for record in records] == [make_image(3), make_image(6), make_image(3)]
    assert {record.options for record in records} == {("Dog", "Cat", "Tiger", "Elephant")}
    assert records.format == "lmudata"


def test_a_path_outside_the_kits_images_is_refused(lmudata: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(make_image(1))
    (lmudata / "images/link.png").symlink_to(tmp_path / "secret.png")
    records = read(custom_mcq(lmudata, str(tmp_path / "secret.png"), "../../secret.png", "link.png", "no.png"))
    assert list(records) == []
    assert [reject.code for reject in records.rejects] == ["image.path"] * 3 + ["image.missing"]


def test_a_bare_name_is_the_table_of_that_name(lmudata: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = custom_mcq(lmudata, "dog.jpg")
    monkeypatch.chdir(tmp_path)
    assert [source.path for source in plan_inputs(["custom_mcq"])] == [path]
    with pytest.raises(UsageError, match=r"custom_mc: no such file or folder\. Did you mean custom_mcq\?"):
        plan_inputs(["custom_mc"])
    command = [sys.executable, "-m", "mmconvert", "convert", "custom_mcq", "-o", "out", "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout)["rows_written"] == 1


@pytest.mark.parametrize("format_", ["lmudata", "reform_eval"])
@pytest.mark.parametrize("value", [5, "x", [1], {"index": 5}, True])
def test_a_field_of_the_source_may_be_called_as_our_own_notes(
    format_: str, value: object, tmp_path: Path, repository: Path
) -> None:
    records = read(repository / "src/mmconvert/testing/demo/files/lmudata/Colours.tsv")
    noted = [replace(record, extra={"headers": value, "of_file": value}) for record in records]
    target = Target(tmp_path / ("a.tsv" if format_ == "lmudata" else "a.json"))
    write(noted, target, format_)
    assert len(list(read(target.path, format_))) == len(noted)


def shades(records: Iterable[Record]) -> list[list[bytes | None]]:
    return [[image.bytes for image in record.images] for record in records]


def written(record: Record, folder: Path) -> tuple[list[tuple[str, bool]], list[Record]]:
    """The fields that are lost, and whether the row with them; and what is read back, another row aside."""
    other = replace(asked("<image 1>Other?", 1), id="other", sample="other")
    losses = write([record, other], Target(folder / "out.tsv"), "lmudata")
    records = read(folder / "out.tsv", "lmudata")
    back = list(records)
    assert (records.rejects, back.pop().id) == ([], "other")
    assert all(loss.message.endswith("the row is left out") for loss in losses if loss.left_out)
    return [(loss.field, loss.left_out) for loss in losses], back


def test_images_with_gaps_are_numbered_anew(tmp_path: Path) -> None:
    record = asked("<image 2> or", 2, 3, 5, shown="<image_5><image 2> or", hint="<image_5>")
    lost, (back,) = written(record, tmp_path)
    assert (lost, back.question, back.hint) == ([("question", False)], "<image 1> or", "<image_3>")
    assert [image.bytes for image in back.images] == [make_image(5), make_image(2)]
    assert [image.bytes for image in back.attachments] == [make_image(3)]


def test_mmmus_demo_comes_back_from_a_table(repository: Path, tmp_path: Path) -> None:
    source = read(repository / "src/mmconvert/testing/demo/files/mmmu/validation.parquet")
    losses = write(source, Target(tmp_path / "out.tsv"), "lmudata")
    records = read(tmp_path / "out.tsv")
    assert shades(records) == shades(source)
    assert records.rejects == []
    assert {loss.field for loss in losses} == {"question", "explanation"}


@pytest.mark.parametrize(
    ("question", "shown"),
    [("<image 1>What does <image 3> mean?", "<image 1>"), ("<image 1><image 2>Tag <image 1>?", "<image 1><image 2>")],
)
def test_a_text_that_only_looks_like_a_placeholder_leaves_the_row_out(
    question: str, shown: str, tmp_path: Path
) -> None:
    assert written(asked(question, 1, 2, shown=shown), tmp_path) == ([("question", True)], [])


def test_a_prompt_that_shows_a_part_of_the_images_is_named(tmp_path: Path) -> None:
    lost, (back,) = written(asked("<image 1> or <image 2>?", 1, 2, shown="<image 1>"), tmp_path)
    assert (lost, shades([back])) == ([("messages", False)], [[make_image(1), make_image(2)]])


def test_an_image_of_an_earlier_turn_may_be_named(tmp_path: Path) -> None:
    record = asked("<image 1>?", 1)
    dialog = (*record.messages, Turn("assistant", ()), replace(record.messages[0], content=()))
    lost, (back,) = written(replace(record, messages=dialog), tmp_path)
    assert (lost, shades([back])) == ([("messages", False)], [[make_image(1)]])


def test_a_row_without_image_or_question_is_left_out(tmp_path: Path) -> None:
    assert written(asked("What?"), tmp_path) == ([("images", True)], [])
    assert written(asked(" ", 1, shown="<image 1>"), tmp_path) == ([("question", True)], [])


def test_an_empty_option_is_a_gap_that_cannot_be_the_answer(tmp_path: Path) -> None:
    record = asked("<image 1>?", 1)
    lost, (back,) = written(replace(record, **answered("C", "red", "", "blue")), tmp_path)
    assert (lost, back.options, back.answer) == ([("options", False)], ("red", None, "blue"), "C")
    assert written(replace(record, **answered("B", "red", "", "blue")), tmp_path) == ([("answer", True)], [])


def test_an_answer_that_the_source_gave_as_text_is_written_as_its_letter(tmp_path: Path) -> None:
    record = asked("<image 1>?", 1, **{**answered("B", "red", "blue"), "label": '"blue"'})
    lost, (back,) = written(record, tmp_path)
    assert (lost, back.answer, back.label) == ([], "B", '"B"')


def test_further_fields_do_not_take_the_place_of_the_formats_own(tmp_path: Path) -> None:
    extra = {"index": 7, "question": "other", "image": "x.png", "Hint": "read as one", "A": "red", "note": "kept"}
    lost, (back,) = written(asked("<image 1>?", 1, extra=extra), tmp_path)
    assert [field for field, _ in lost] == ["index", "question", "image", "Hint", "A"]
    assert (back.id, back.question, back.hint, back.extra) == ("q", "<image 1>?", None, {"note": "kept"})


def test_headers_and_groups_of_a_table_come_back(tmp_path: Path) -> None:
    row = ("1", "Which?", "look", "red", "blue", "A", cell(1), "1", "n")
    path = table(tmp_path / "t.tsv", "Index Question HINT A B answer Image G_Index Note", row)
    assert write(read(path), Target(tmp_path / "back.tsv"), "lmudata") == []
    (old,), (new,) = read(path), read(tmp_path / "back.tsv")
    assert replace(new, source=old.source) == old


def test_a_single_option_is_no_choice_and_is_not_written(tmp_path: Path) -> None:
    lines = ["index\tquestion\tA\tB\tanswer\timage", f"1\tq\ta\tb\tA\t{cell(1)}", f"2\tq\ta\t\tA\t{cell(1)}"]
    (tmp_path / "t.tsv").write_text("\n".join(lines) + "\n")
    records = read(tmp_path / "t.tsv", "lmudata")
    (first,) = records
    assert [(reject.code, reject.field) for reject in records.rejects] == [("options.count", "A")]
    losses = write([first, replace(first, id="2", options=("a",))], Target(tmp_path / "again.tsv"), "lmudata")
    assert [(loss.id, loss.field, loss.left_out) for loss in losses] == [("2", "options", True)]
