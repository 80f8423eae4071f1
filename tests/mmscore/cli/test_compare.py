import json

import pytest

from support.chat_server import chat_server, said
from support.predictions import choices, write_predictions
from support.terminal import mmscore, one_message


@pytest.fixture
def files(tmp_path):
    a = choices(*[("A", "A")] * 4, *[("B", "A")] * 8, model="m\x1b[31m[red]x")
    b = choices(*[("B", "A")] * 1, *[("A", "A")] * 11, model="other")
    for rows in (a, b):
        for n, row in enumerate(rows):
            row["category"] = "[bold]" if n % 2 else "plain"
    return write_predictions(tmp_path / "a.parquet", a), write_predictions(tmp_path / "b.parquet", b)


def test_the_table_says_who_how_far_and_how_sure(files):
    shown = mmscore("compare", *files, "--recipe", "vlmevalkit_mcq", "--by", "category")
    assert shown.code == 0
    for text in ("+0.5833", "0.0391", "exact McNemar", "12 rows compared", "p (Holm)", "[bold]", "other"):
        assert text in shown.out
    assert "\x1b" not in shown.out


def test_numbers_of_the_whole_file_have_an_interval_and_their_test(tmp_path):
    rows = [{"id": str(n), "answer": ["yes", "no"][n % 2], "category": "c", "task": "yes_no"} for n in range(30)]
    a = write_predictions(tmp_path / "a.parquet", [{**row, "prediction": "yes"} for row in rows])
    b = write_predictions(tmp_path / "b.parquet", [{**row, "prediction": row["answer"]} for row in rows])
    shown = mmscore("compare", a, b, "--recipe", "pope_official", "--by", "category", "--all")
    assert shown.code == 0
    for text in (
        "the recipe's numbers over these rows",
        "paired bootstrap of the number",
        "f1: 1 groups",
        "0.1994 to 0.5000",
        "< 0.001",
    ):
        assert text in " ".join(shown.out.split())


def test_the_primary_metric_stands_alone_and_the_others_are_named(tmp_path):
    rows = [{"id": str(n), "answer": "yes", "prediction": ["yes", "no"][n % 2], "task": "yes_no"} for n in range(20)]
    file = write_predictions(tmp_path / "a.parquet", rows)
    shown = mmscore("compare", file, file, "--recipe", "pope_official")
    line = "accuracy is the recipe's first metric and decides. --all tests precision, recall, f1, yes_ratio too."
    assert line in " ".join(shown.out.split())
    assert "paired bootstrap of the number" not in shown.out
    whole = " ".join(mmscore("compare", file, file, "--recipe", "pope_official", "--all").out.split())
    assert line not in whole
    assert "fewer than 30 pairs" in whole


def test_json_is_one_object_and_the_file_holds_the_same(files, tmp_path):
    shown = mmscore("compare", *files, "--recipe", "vlmevalkit_mcq", "--json", "-o", tmp_path / "c.json")
    found = json.loads(shown.out)
    assert found == json.loads((tmp_path / "c.json").read_text())
    accuracy = found["scores"]["accuracy"]
    assert (accuracy["a"], accuracy["b"], accuracy["n"]) == (4 / 12, 11 / 12, 12)
    assert (accuracy["mcnemar"]["only_a"], accuracy["mcnemar"]["only_b"]) == (1, 8)


def test_rows_of_one_side_only_are_named_and_give_exit_code_3(files, tmp_path):
    short = write_predictions(tmp_path / "short.parquet", choices(*[("A", "A")] * 10))
    shown = mmscore("compare", files[0], short, "--recipe", "vlmevalkit_mcq")
    assert shown.code == 3
    assert "2 rows only in A: 10, 11" in shown.out
    assert mmscore("compare", files[0], short, "--recipe", "vlmevalkit_mcq", "--allow-rejects").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{a}"], 2, "Missing argument 'B'."),
        (["{a}", "none.parquet"], 2, "none.parquet: no such file or folder."),
        (["{a}", "{b}", "--recipe", "own_chioce"], 2, "Did you mean own_choice"),
        (["{a}", "{b}", "--by", "categroy"], 2, "Did you mean category?"),
        (["{a}", "{b}", "--resamples", "1"], 2, "Invalid value for '--resamples'"),
        (["{a}", "{b}", "-o", "no/such/c.json"], 2, "no/such/c.json: cannot be written"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message(files, arguments, code, message):
    ended = mmscore("compare", *(text.format(a=files[0], b=files[1]) for text in arguments))
    assert message in one_message(ended, "mmscore")
    assert ended.code == code


def test_one_judge_judges_both_files(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-shown")
    row = {"question": "What?", "answer": "cat", "task": "vqa"}
    a, b = (
        write_predictions(tmp_path / f"{name}.parquet", [{"id": str(n), "prediction": name, **row} for n in range(3)])
        for name in ("kitten", "dog")
    )

    def grade(request):
        verdict = "correct" if "kitten" in request["messages"][-1]["content"] else "incorrect"
        return said(json.dumps({"reason": "r", "verdict": verdict}))

    with chat_server(grade) as server:
        judged = [
            "--recipe",
            "own_short_answer",
            "--judge",
            "own",
            "--judge-model",
            "j",
            "--judge-base-url",
            server.url,
        ]
        shown = mmscore("compare", a, b, *judged, "--json")
    assert shown.code == 0, shown.err
    score = json.loads(shown.out)["scores"]["accuracy"]
    assert (score["a"], score["b"], score["mcnemar"]["only_a"]) == (1, 0, 3)


def test_doubts_that_the_questions_are_the_same_are_said_and_give_exit_code_3(tmp_path):
    a = write_predictions(tmp_path / "a.parquet", choices(("A", "A"), ("A", "A")), dataset="D")
    b = write_predictions(tmp_path / "b.parquet", choices(("A", "A"), ("A", "B")), dataset="E")
    shown = mmscore("compare", a, b, "--recipe", "own_choice")
    assert shown.code == 3
    assert "A names the dataset D, B E. If they are the same, give --dataset NAME." in shown.out
    assert "1 of these rows have other references or options in B than in A" in shown.out
    assert shown.out.count("\n  accuracy ") == 1
    named = mmscore("compare", a, b, "--recipe", "own_choice", "--dataset", "D")
    assert "names the dataset" not in named.out


@pytest.mark.parametrize("words", [("-", "-"), ("-", "{a}", "--answers", "-")])
def test_standard_input_is_given_once(files, words):
    ended = mmscore("compare", *(word.format(a=files[0]) for word in words))
    assert "-: standard input cannot be read twice. Write it to a file first." in one_message(ended, "mmscore")
    assert ended.code == 2
