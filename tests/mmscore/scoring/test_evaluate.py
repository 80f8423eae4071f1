import math
import platform
import re
from importlib import metadata

import pytest

from mmconvert.core.errors import Error, UsageError
from mmscore.scoring.evaluate import score
from mmscore.scoring.judging.request import JudgeRequest
from support.predictions import choices, write_predictions

PLAIN = "tests/support/plain_recipe.py@RECIPE"


@pytest.fixture
def plain(repository):
    return str(repository / PLAIN)


def _entry(report):
    (entry,) = report.entries
    return entry


def test_counts_add_up(tmp_path, plain):
    rows = [
        {"id": "1", "prediction": "x", "answer": "x"},
        {"id": "2", "prediction": "", "answer": "x"},
        {"id": "3", "prediction": "LEAVE OUT", "answer": "x"},
        {"id": "4", "prediction": None, "answer": "x"},
        {"id": "5", "prediction": "BAD ROW", "answer": "x"},
    ]
    entry = _entry(score(write_predictions(tmp_path / "p.parquet", rows), plain))
    counts = entry.counts
    assert (counts.total, counts.scored, counts.excluded, counts.failed, counts.rejected) == (5, 2, 1, 1, 1)
    assert counts.unparsed == 1
    assert counts.total == counts.scored + counts.excluded + counts.unscored
    assert entry.metrics["accuracy"].n == 2
    assert entry.metrics["accuracy"].value == 0.5
    assert any("row 4" in message for message in entry.messages)


def test_the_report_says_what_was_scored_how_and_why(tmp_path, plain):
    file = write_predictions(tmp_path / "run7.parquet", [{"id": "1", "prediction": "x", "answer": "x"}])
    entry = _entry(score(file, f"{plain}@1", dataset="mine"))
    assert (entry.version, entry.parity, entry.reason, entry.dataset) == ("1", "own", "given by --recipe", "mine")
    assert entry.model == "run7"
    assert "average:micro" in entry.signature
    assert "@1|" in entry.signature


def test_the_signature_tells_data_prompts_and_releases_whatever_the_model_said(tmp_path, plain):
    def parts(name, *, answer="x", prediction="x", text="q", order=1):
        turn = {"role": "user", "content": [{"type": "text", "text": text}]}
        rows = [{"id": i, "prediction": prediction, "answer": answer, "messages": [turn]} for i in "ab"]
        entry = _entry(score(write_predictions(tmp_path / f"{name}.parquet", rows[::order]), plain))
        return dict(part.split(":", 1) for part in entry.signature.split("|"))

    first = parts("first")
    assert parts("other_model", prediction="y") == parts("shuffled", order=-1) == first
    other_data, other_prompt = parts("other_data", answer="z"), parts("other_prompt", text="say: q")
    assert {name for name in first if first[name] != other_data[name]} == {"data"}
    assert {name for name in first if first[name] != other_prompt[name]} == {"prompt"}
    assert first["releases"].startswith(f"python={platform.python_version()},jieba={metadata.version('jieba')},")


def test_files_and_recipes_stand_side_by_side(tmp_path, plain):
    rows = [{"id": "1", "prediction": "x", "answer": "x"}]
    files = [write_predictions(tmp_path / f"{name}.parquet", rows, model=name) for name in ("m1", "m2")]
    report = score(files, [f"{plain}@1", f"{plain}@2"])
    assert [(e.model, e.version) for e in report.entries] == [("m1", "1"), ("m1", "2"), ("m2", "1"), ("m2", "2")]


def test_references_of_a_dataset_count_missing_rows_and_make_the_number_partial(tmp_path, plain):
    questions = write_predictions(tmp_path / "q.parquet", [{"id": n, "answer": "x", "category": "c"} for n in "abc"])
    file = write_predictions(tmp_path / "p.parquet", [{"id": "a", "prediction": "x"}, {"id": "zz", "prediction": "x"}])
    entry = _entry(score(file, plain, answers=questions))
    assert (entry.counts.scored, entry.counts.missing, entry.counts.rejected, entry.counts.total) == (1, 2, 1, 4)
    assert entry.partial
    assert "c" in entry.groups["category"]
    assert "answers:q.parquet" in entry.signature


def test_groups_hold_the_same_numbers_over_fewer_rows(tmp_path, plain):
    rows = choices(("x", "x"), ("x", "y"), category="a") + [{**r, "id": "9"} for r in choices(("x", "x"), category="b")]
    file = write_predictions(tmp_path / "p.parquet", rows, note="n")
    entry = _entry(score(file, plain, by=["note"]))
    assert list(entry.groups) == ["note", "category"]
    assert {value: m["accuracy"].value for value, m in entry.groups["category"].items()} == {"a": 0.5, "b": 1.0}
    assert entry.groups["note"]["n"]["accuracy"].n == 3


def test_macro_weighs_the_groups_of_the_first_breakdown(tmp_path, plain):
    rows = choices(("x", "x"), ("x", "y"), category="a") + [{**r, "id": "9"} for r in choices(("x", "x"), category="b")]
    file = write_predictions(tmp_path / "p.parquet", rows)
    entry = _entry(score(file, plain, by=["category"], average="macro"))
    assert entry.metrics["accuracy"].value == 0.75
    assert "average:macro over category" in entry.signature


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"recipe": "vlmevalkit_mqc"}, ["Did you mean vlmevalkit_mcq"]),
        ({"recipe": "vlmevalkit_mcq@v9"}, ["no version 'v9'", "v1"]),
        ({"recipe": "no/such.py@RECIPE"}, ["no such file"]),
        ({"by": ["categry"]}, ["no column 'categry'", "Did you mean category"]),
        ({"by": ["options"]}, ["options", "lists"]),
        ({"by": ["extra.k"]}, ["extra.k"]),
        ({"average": "median"}, ["median", "micro"]),
        ({"average": "macro", "by": ["empty"]}, ["empty"]),
    ],
)
def test_a_wrong_option_is_a_usage_error_that_names_it(tmp_path, plain, options, words):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), category="c", empty=None, extra="{}"))
    with pytest.raises(UsageError) as caught:
        score(file, options.pop("recipe", plain), **options)
    for word in words:
        assert word in str(caught.value)


def test_macro_without_groups_is_refused(tmp_path, plain):
    file = write_predictions(tmp_path / "p.parquet", [{"id": "1", "prediction": "x", "answer": "x"}])
    with pytest.raises(UsageError, match="--by"):
        score(file, plain, average="macro")


def test_names_are_looked_at_before_any_row(tmp_path, plain):
    with pytest.raises(UsageError, match="no such file"):
        score([write_predictions(tmp_path / "p.parquet", [{"id": "1", "prediction": "x"}]), tmp_path / "q"], plain)


def test_the_first_rows_of_a_reason_are_named_and_the_rest_counted(tmp_path, plain):
    rows = [{"id": str(n), "prediction": "BAD ROW", "answer": "x"} for n in range(9)]
    entry = _entry(score(write_predictions(tmp_path / "p.parquet", rows), plain))
    *named, more = entry.messages
    assert [int(re.search(r"row (\d+) prediction", message)[1]) for message in named] == [0, 1, 2, 3, 4]
    assert more == "... and 4 more such rows."


def test_a_judge_that_asks_nobody_of_its_own_accord_says_so(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", [{"id": "1", "prediction": "x", "answers": ["x"]}])
    entry = _entry(score(file, "evalscope_general_vqa", judge=JudgeRequest("evalscope")))
    assert [message for message in entry.messages if "no request was sent" in message] != []


def test_all_rows_failed_gives_no_number_and_no_crash(tmp_path, plain):
    file = write_predictions(tmp_path / "p.parquet", [{"id": "1", "prediction": None, "answer": "x"}])
    entry = _entry(score(file, plain))
    assert entry.counts.failed == 1
    assert all(math.isnan(estimate.value) for estimate in entry.metrics.values())


def test_a_kits_own_table_may_break_off_without_taking_the_numbers_along(tmp_path):
    rows = choices(("A", "A"), ("B", "A"), category="c")
    rows[0]["category"] = None
    entry = _entry(score(write_predictions(tmp_path / "p.parquet", rows), "vlmevalkit_mcq"))
    assert entry.metrics["accuracy"].value == 0.5
    assert entry.table == ()
    assert any("table" in message for message in entry.messages)


def test_rows_without_a_reference_anywhere_are_refused(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", [{"id": "1", "prediction": "A", "options": ["x", "y"]}])
    with pytest.raises(Error, match="no row has a reference"):
        score(file, "vlmevalkit_mcq")
