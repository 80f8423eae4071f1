import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from mmconvert.core.errors import Error, UsageError
from mmconvert.core.record import to_arrow
from mmconvert.dataset.dataset import DatasetWriter
from mmscore.api import score
from mmscore.reporting.html.page import PageOptions, write_report
from mmscore.scoring.evaluate import ScoreOptions, score_results
from mmscore.scoring.judging.request import JudgeRequest
from support.chat_server import chat_server, said
from support.predictions import choices, write_predictions
from support.questions import make_image, record


def held(path, name):
    """Read one of the page's scripts of data."""
    text = path.read_text(encoding="utf-8")
    return re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.DOTALL)[1]


def items_of(path):
    """Give the details of each item by its id: messages, images, fields, facts, others."""
    ids = [row[0] for row in json.loads(held(path, "mm-rows"))]
    return dict(zip(ids, map(json.loads, held(path, "mm-details").splitlines()), strict=True))


def written(tmp_path, files, recipes=("own_choice",), answers=None):
    path = tmp_path / "report.html"
    write_report(
        path, list(score_results(files, list(recipes), ScoreOptions(answers=answers))), PageOptions(images=answers)
    )
    return path


@pytest.fixture
def dataset(tmp_path):
    options = ("red", "green")
    records = [
        record(n, make_image(colour), "Which colour?", answer=answer, task="multiple_choice", options=options)
        for n, (colour, answer) in enumerate([("red", "A"), ("green", "B"), ("blue", "A")])
    ]
    with DatasetWriter(tmp_path / "data") as writer:
        writer.write(records)
    return tmp_path / "data"


@pytest.mark.parametrize("first", [0, 20_000_001], ids=["joined by id", "joined by place"])
def test_prompts_without_images_show_those_of_the_references(tmp_path, first):
    records = [
        record(n, make_image(colour), "Which colour?", answer="red", task="vqa")
        for n, colour in enumerate(["red", "green"])
    ]
    with DatasetWriter(tmp_path / "data") as writer:
        names = [f"{n:09d}" if first else str(n) for n in range(2)]
        writer.write(
            replace(one, id=name, sample=name, source=replace(one.source, numbered=True))
            for one, name in zip(records, names, strict=True)
        )
    lines = [
        {"question_id": first + n, "prompt": "Which colour?", "text": "red", "answer_id": "a", "model_id": "m"}
        for n in range(2)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    path = written(tmp_path, [tmp_path / "a.jsonl"], ["own_short_answer"], answers=tmp_path / "data")
    for messages, shown_images, *_ in items_of(path).values():
        assert messages == [["user", [0, "Which colour?"]]]
        assert "PNG" in shown_images[0][1]


def replies(tmp_path, *texts, name="p", **columns):
    rows = [{"id": str(n), "prediction": text} for n, text in enumerate(texts)]
    return write_predictions(tmp_path / f"{name}.parquet", rows, **columns)


def test_the_page_holds_the_json_report_itself(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("B", "A"), category="c"))
    path = written(tmp_path, [file])
    (result,) = score_results([file], ["own_choice"], ScoreOptions())
    assert json.loads(held(path, "mm-data"))["report"]["entries"] == [result.entry.to_json()]


def test_an_item_shows_messages_with_images_reply_with_the_answer_marked_and_what_was_read(tmp_path, dataset):
    path = written(tmp_path, [replies(tmp_path, "It is (A).", "A", "?")], answers=dataset)
    messages, shown_images, fields, _, _ = items_of(path)["0"]
    assert messages == [["user", [0, "Which colour?"]]]
    assert shown_images[0][0] == 0
    assert fields == [
        ["Options", [{"pieces": ["red"], "name": "A", "tone": "good"}, {"pieces": ["green"], "name": "B"}]],
        ["Reference", ["A"]],
        ["Response", [{"pieces": ["It is (", ["A", "own_choice@1: bracketed letter", None], ")."]}]],
        ["Parsed answer", [{"pieces": [
            "A\nbracketed letter: accuracy 1, accuracy (parsed only) 1, accuracy (random guess for unparsed) 1"
        ], "tone": "good"}]],
    ]  # fmt: skip
    assert len(held(path, "mm-images").splitlines()) == 3


def test_questions_that_nobody_answered_are_listed_with_what_was_asked(tmp_path, dataset):
    path = written(tmp_path, [replies(tmp_path, "A", "B")], answers=dataset)
    messages, shown_images, fields, _, _ = items_of(path)["2"]
    assert messages == [["user", [0, "Which colour?"]]]
    assert shown_images[0][0] == 2
    assert fields[-1] == ["Parsed answer", [{"pieces": ["missing"], "tone": "bad"}]]


def test_messages_are_those_that_the_model_saw(tmp_path, dataset):
    told = [record(n, make_image("red"), "What was really asked?") for n in range(3)]
    batch = to_arrow(told).select(["id", "messages"])
    table = pa.Table.from_batches([batch]).append_column("prediction", pa.array(["A"] * 3))
    pq.write_table(table, tmp_path / "p.parquet")
    path = written(tmp_path, [tmp_path / "p.parquet"], answers=dataset)
    assert items_of(path)["0"][0] == [["user", [0, "What was really asked?"]]]


def test_a_page_without_the_images_says_where_they_would_come_from(tmp_path, dataset):
    table = pq.read_table(next(dataset.rglob("*.parquet"))).drop_columns(["images", "image_info", "attachments"])
    table = table.set_column(table.column_names.index("prediction"), "prediction", pa.array(["A"] * 3))
    pq.write_table(table, tmp_path / "p.parquet")
    path = written(tmp_path, [tmp_path / "p.parquet"])
    assert items_of(path)["0"][1] == [[None, "", "", "not in the predictions file", None]]
    assert "--html-pictures DATASET" in json.loads(held(path, "mm-page"))["notes"][0]


def test_a_dataset_that_has_none_of_the_rows_is_named(tmp_path, dataset):
    (tmp_path / "other").mkdir()
    with DatasetWriter(tmp_path / "other" / "data") as writer:
        writer.write([record(7, make_image("red"), "Which?", answer="A", task="multiple_choice", options=("a", "b"))])
    file = replies(tmp_path, "A", "B")
    path = tmp_path / "report.html"
    found = list(score_results([file], ["own_choice"], ScoreOptions(answers=dataset)))
    write_report(path, found, PageOptions(images=tmp_path / "other" / "data"))
    assert "other/data has no images of these samples" in json.loads(held(path, "mm-page"))["notes"][0]


def test_models_side_by_side_have_a_column_each_and_share_their_items(tmp_path, dataset):
    files = [replies(tmp_path, *texts, name=name, model=name) for name, texts in {"m": "AB?", "n": "BB?"}.items()]
    path = written(tmp_path, files, answers=dataset)
    page = json.loads(held(path, "mm-page"))
    assert [column["name"] for column in page["columns"] if column["kind"] != "hidden"] == [
        "id", "question", "reference", "result: m", "result: n",
    ]  # fmt: skip
    rows = {row[0]: row for row in json.loads(held(path, "mm-rows"))}
    marks = [filter["name"] for filter in page["filters"] if filter["kind"] == "mark"]
    assert [marks[n] for n in rows["0"][2]] == ["wrong", "models disagree"]
    assert [marks[n] for n in rows["2"][2]] == ["wrong", "unparsed"]
    assert [label for label, _ in items_of(path)["0"][2]] == [
        "Options", "Reference", "Response of m", "Parsed answer of m", "Response of n", "Parsed answer of n",
    ]  # fmt: skip


def test_recipes_that_disagree_are_marked_and_mark_their_own_places(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("red", "A"), ("A", "A")))
    path = written(tmp_path, [file], ["own_choice", "evalscope_general_vmcq"])
    filters = [one["name"] for one in json.loads(held(path, "mm-page"))["filters"] if one["kind"] == "mark"]
    marked = {row[0]: [filters[n] for n in row[2]] for row in json.loads(held(path, "mm-rows"))}
    assert marked == {"0": ["wrong", "unparsed", "recipes disagree"], "1": []}


def test_rows_beyond_the_limit_are_left_out_evenly_and_the_page_says_so(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(*[("A", "A")] * 21))
    path = tmp_path / "report.html"
    assert write_report(path, list(score_results([file], ["own_choice"], ScoreOptions())), PageOptions(most=5)) == 5
    assert [row[0] for row in json.loads(held(path, "mm-rows"))] == ["0", "5", "10", "15", "20"]
    assert "5 of 21 samples" in json.loads(held(path, "mm-page"))["notes"][0]


def test_two_datasets_keep_their_rows_apart(tmp_path):
    files = [
        write_predictions(tmp_path / f"{name}.parquet", choices(("A", "A")), dataset=name, model="m") for name in "xy"
    ]
    assert list(items_of(written(tmp_path, files))) == ["x/0", "y/0"]


def test_an_id_with_a_null_character_keeps_its_row(tmp_path):
    for name in "xy":
        row = {**choices(("A", "A"))[0], "id": "a\0b", "question": "What?", "dataset": name, "model": "m"}
        write_predictions(tmp_path / f"{name}.parquet", [row])
    alone, both = [tmp_path / "x.parquet"], [tmp_path / "x.parquet", tmp_path / "y.parquet"]
    for files, ids in ((alone, ["a\0b"]), (both, ["x/a\0b", "y/a\0b"])):
        rows = json.loads(held(written(tmp_path, files), "mm-rows"))
        assert [(row[0], row[1][1]) for row in rows] == [(id, "What?") for id in ids]


def test_rows_without_an_id_are_counted_in_a_note(tmp_path):
    row = {**choices(("A", "A"))[0], "id": None}
    file = write_predictions(tmp_path / "p.parquet", [*choices(("A", "A")), row])
    assert "1 samples have no id" in json.loads(held(written(tmp_path, [file]), "mm-page"))["notes"][0]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A")))
    with pytest.raises(UsageError, match="nowhere"):
        write_report(tmp_path / "nowhere" / "r.html", list(score_results([file], ["own_choice"], ScoreOptions())))


def test_score_in_python_writes_the_page_too(tmp_path, dataset):
    report = score(replies(tmp_path, *"AB?"), "own_choice", answers=dataset, html=tmp_path / "r.html")
    data = json.loads(held(tmp_path / "r.html", "mm-data"))
    assert data["report"] == report.to_json()
    assert len(held(tmp_path / "r.html", "mm-images").splitlines()) == 3


def test_what_a_judge_said_stands_with_what_was_read(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    file = write_predictions(
        tmp_path / "p.parquet",
        [{"id": "0", "question": "What?", "prediction": "a kitten", "answer": "cat"}],
        task="vqa",
    )
    verdict = json.dumps({"reason": "the same animal", "verdict": "correct"})
    with chat_server(lambda request: said(verdict)) as server:
        request = JudgeRequest("own", model="wise", base_url=server.url, strategy="llm")
        score(file, "own_short_answer", judge=request, html=tmp_path / "r.html")
    fields = dict(items_of(tmp_path / "r.html")["0"][2])
    assert fields["Judge wise"] == [verdict]
    assert fields["Parsed answer"][0]["tone"] == "good"
    assert "sk-never-shown" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_images_of_a_file_that_is_not_ours_are_not_looked_at(tmp_path):
    rows = [{**row, "messages": None} for row in choices(("A", "A"))]
    turn = [{"role": "user", "content": [{"type": "image", "text": ""}]}]
    table = pa.Table.from_pylist(rows).drop_columns(["messages"])
    table = table.append_column("messages", pa.array([turn], to_arrow([]).schema.field("messages").type))
    table = table.append_column("images", pa.array([["a.png"]])).append_column("sample", pa.array(["0"]))
    table = table.append_column("image_info", pa.array([[]], to_arrow([]).schema.field("image_info").type))
    pq.write_table(table, tmp_path / "p.parquet")
    assert items_of(written(tmp_path, [tmp_path / "p.parquet"]))["0"][1] == [
        [None, "", "", "not in the predictions file", None]
    ]


def test_every_breakdown_can_be_filtered_by_and_the_finest_are_columns(tmp_path):
    values = {"subset": "ab", "split": "cd", "category": "ef"}
    rows = [{**row, **{n: v[k] for n, v in values.items()}} for k, row in enumerate(choices(("A", "A"), ("B", "A")))]
    path = written(tmp_path, [write_predictions(tmp_path / "p.parquet", rows)])
    page = json.loads(held(path, "mm-page"))
    assert [c["name"] for c in page["columns"] if c["kind"] == "hidden"] == ["subset"]
    assert {"subset", "split", "category"} <= {filter["name"] for filter in page["filters"]}


def test_likelihoods_of_options_and_a_cut_reply_are_shown(tmp_path):
    (row,) = choices(("B", "B"))
    columns = {"method": "likelihood", "finish_reason": "length", "option_logprobs": [-2.5, -0.25]}
    file = write_predictions(
        tmp_path / "p.parquet", [{**row, "options": ["red", None, "blue"], "answer": "C", **columns}]
    )
    fields = dict(items_of(written(tmp_path, [file]))["0"][2])
    values = [{"pieces": ["-2.5000"], "name": "A"}, {"pieces": ["-0.2500"], "name": "C"}]
    assert fields["Log-probability of each option"] == values
    assert fields["Finish reason"] == [{"pieces": ["length"], "tone": "warn"}]


def test_columns_that_hold_something_else_under_our_names_are_left_out(tmp_path):
    rows = [{**row, "thinking": [1, 2], "hint": "h"} for row in choices(("A", "A"))]
    file = write_predictions(tmp_path / "p.parquet", rows)
    assert [label for label, _ in items_of(written(tmp_path, [file]))["0"][2]] == [
        "Hint", "Options", "Reference", "Response", "Parsed answer",
    ]  # fmt: skip


def framework_table(folder):
    """Write a VLMEvalKit result table: no messages, no images, ids of its own benchmark."""
    lines = ["index\tquestion\tA\tB\tanswer\tprediction", *(f"{n}\tWhich colour?\tred\tgreen\tA\tA" for n in range(3))]
    (folder / "m_Colours.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "m_Colours.tsv"


@pytest.mark.parametrize("option", ["html_pictures", "answers"])
def test_a_table_of_a_framework_shows_the_images_of_the_dataset(tmp_path, dataset, option):
    page = tmp_path / "r.html"
    score(framework_table(tmp_path), "own_choice", html=page, **{option: dataset})
    assert len(held(page, "mm-images").splitlines()) == 3
    for _, shown_images, *_ in items_of(page).values():
        assert "PNG" in shown_images[0][1]


def test_a_dataset_of_images_that_matches_nothing_is_refused_with_the_ids_of_both_sides(tmp_path, dataset):
    (tmp_path / "other").mkdir()
    with DatasetWriter(tmp_path / "other" / "data") as writer:
        one = record(7, make_image("red"), "Which?", answer="A", task="multiple_choice", options=("a", "b"))
        writer.write([replace(one, id="q7", sample="q7")])
    page = tmp_path / "r.html"
    with pytest.raises(
        Error, match=r"Ids of the predictions: '0', '1', '2'; ids of the dataset: 'q7'\. Fix: html_pictures=DATASET"
    ):
        score(framework_table(tmp_path), "own_choice", html=page, html_pictures=tmp_path / "other" / "data")
    assert not page.exists()


def test_a_dataset_of_images_that_asks_something_else_is_refused(tmp_path, dataset):
    (tmp_path / "other").mkdir()
    with DatasetWriter(tmp_path / "other" / "data") as writer:
        options = ("left", "right")
        others = [
            record(n, make_image("red"), "Where?", answer="A", task="multiple_choice", options=options)
            for n in range(3)
        ]
        writer.write(others)
    with pytest.raises(Error, match=r"differ from .* in question or options.* Fix: html_pictures=DATASET"):
        score(
            framework_table(tmp_path), "own_choice", html=tmp_path / "r.html", html_pictures=tmp_path / "other" / "data"
        )


def test_the_page_says_tokens_settings_and_command(tmp_path):
    file = write_predictions(
        tmp_path / "p.parquet", choices(("A", "A"), ("B", "A")), prompt_tokens=100, completion_tokens=7
    )
    told = {
        "generation": {"max_new_tokens": 64, "temperature": 0, "do_sample": False},
        "seconds": 1.5,
        "cost": 0.25,
        "dataset_fingerprint": "f",
    }
    table = pq.read_table(file)
    pq.write_table(table.replace_schema_metadata({"mmscore.run": json.dumps(told)}), file)
    score(file, "own_choice", html=tmp_path / "r.html", by="task")
    data = json.loads(held(tmp_path / "r.html", "mm-data"))
    (run,) = data["runs"]
    assert run["tokens"] == {"prompt_tokens": 200, "completion_tokens": 14}
    assert (run["counted"], run["seconds"], run["cost"]) == (2, 1.5, 0.25)
    assert run["settings"] == {"generation.max_new_tokens": "64", "generation.temperature": "0"}
    assert data["command"].endswith(f"p.parquet --recipe own_choice --by task --html {tmp_path / 'r.html'}")


def test_scores_by_response_length_are_those_of_the_samples(tmp_path):
    rows = choices(*[("A", "A")] * 10, *[("It is B, I am sure.", "A")] * 10)
    score(write_predictions(tmp_path / "p.parquet", rows), "own_choice", html=tmp_path / "r.html")
    ((short, long),) = json.loads(held(tmp_path / "r.html", "mm-data"))["lengths"]
    assert [(one["low"], one["high"], one["n"], one["mean"]) for one in (short, long)] == [
        (1, 1, 10, 1.0),
        (19, 19, 10, 0.0),
    ]


def test_a_page_is_made_again_byte_by_byte(tmp_path, dataset, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1750000000")
    file = replies(tmp_path, "A", "B", "?")
    pages = [written(tmp_path, [file], answers=dataset).read_bytes() for _ in range(2)]
    assert pages[0] == pages[1]
    assert b"2025-06-15 by mmscore" in pages[0]
