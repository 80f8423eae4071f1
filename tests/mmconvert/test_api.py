"""The verbs as functions give what the command line gives."""

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import mmconvert
from mmconvert.core.errors import Error, UsageError
from mmconvert.core.signature_checks import read_keywords
from support.records import image_bytes
from support.terminal import mmconvert as at_the_terminal

IMAGE = base64.b64encode(image_bytes("PNG")).decode()
DATA = "a path, a list of paths, or data: a Dataset, a DataFrame, an Arrow table, a list of dicts"
HEADER = "index\tquestion\tA\tB\tanswer\timage\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "good.tsv").write_text(HEADER + f"1\tWhich?\tx\ty\tA\t{IMAGE}\n")
    (tmp_path / "mixed.tsv").write_text(HEADER + f"1\tWhich?\tx\ty\tA\t{IMAGE}\n2\tWhich?\tx\ty\tE\t{IMAGE}\n")
    return tmp_path / "good.tsv"


def test_a_conversion_is_the_one_of_the_command_line(table, capsys):
    here, there = table.parent / "here", table.parent / "there"
    done = mmconvert.convert([table], here, split="dev", transform=("circular",))
    assert (done.rows_written, done.splits, done.output) == (2, {"dev": 2}, str(here))
    assert capsys.readouterr() == ("", "")
    assert at_the_terminal("convert", table, "-o", there, "--split", "dev", "--transform", "circular").code == 0
    shards = [[file.read_bytes() for file in sorted(place.rglob("*.parquet"))] for place in (here, there)]
    assert shards[0] == shards[1] != []


def test_refused_rows_are_counted_and_raise_nothing(table):
    done = mmconvert.convert(table.with_name("mixed.tsv"), table.parent / "out")
    assert (done.rows_written, done.rows_rejected) == (1, 1)
    assert json.loads(Path(done.rejects).read_text())["code"] == "answer.not_an_option"
    assert "expected one of A, B" in done.reasons[0]


def test_problems_losses_and_faults_are_lists(table):
    found = mmconvert.check(table.with_name("mixed.tsv"), format="lmudata")
    assert (found.rows, found.bad_rows, len(found.problems)) == (1, 1, 1)
    mmconvert.convert(table, table.parent / "data")
    written = mmconvert.export(table.parent / "data", table.parent / "again.tsv", to="lmudata")
    assert (written.rows_read, written.losses, Path(written.output).is_file()) == (1, [], True)
    assert mmconvert.verify(table.parent / "data") == []
    (record,) = mmconvert.open_dataset(table.parent / "data").records()
    assert isinstance(record, mmconvert.Record)


def test_a_push_is_checked_in_full_and_sends_nothing_when_dry(table):
    mmconvert.convert(table, table.parent / "data")
    done = mmconvert.push(table.parent / "data", "user/repo", dry_run=True)
    assert (done["rows"], done["url"], done["dry_run"]) == (1, None, True)
    with pytest.raises(UsageError, match="is not a name of a repository"):
        mmconvert.push(table.parent / "data", "no name", dry_run=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: mmconvert.convert(t, "x", fromat="a"), "convert: no option 'fromat'. Did you mean format?"),
        (lambda t: mmconvert.check(t, image_rot="a"), "check: no option 'image_rot'. Did you mean image_root?"),
        (lambda t: mmconvert.export(t, "x", to="trl", colums="a"), "export: no option 'colums'. Did you mean columns?"),
        (lambda t: mmconvert.verify(t, quit=True), "verify: no option 'quit'. Did you mean quiet?"),
        (lambda t: mmconvert.open_dataset(t, confg="a"), "open_dataset: no option 'confg'. Did you mean config?"),
        (lambda t: mmconvert.push(t, "a/b", privat=True), "push: no option 'privat'. Did you mean private?"),
        (
            lambda t: mmconvert.convert(t, t.parent / "x", format="lmudta"),
            "unknown format 'lmudta'. Did you mean lmudata?",
        ),
        (lambda t: mmconvert.convert(t.with_name("god.tsv"), "x"), "Did you mean good.tsv?"),
        (lambda t: mmconvert.convert(t, t.parent / "x", limit="many"), "'many' is not a valid integer"),
        (lambda t: mmconvert.convert(t, t.parent, format="lmudata"), "Give overwrite=True, or append=True"),
        (lambda t: mmconvert.convert(t, "x", append=True, overwrite=True), "append=True and overwrite=True exclude"),
    ],
)
def test_a_mistake_is_met_with_the_nearest_and_remedies_name_keywords(table, call, words):
    with pytest.raises(UsageError) as error:
        call(table)
    assert words in str(error.value)


def test_an_error_that_is_no_mistake_of_usage_names_keywords_too(table):
    header = table.with_name("header.tsv")
    header.write_text(HEADER)
    with pytest.raises(Error, match="Give allow_empty=True to write") as error:
        mmconvert.convert(header, table.parent / "x", format="lmudata")
    assert not isinstance(error.value, UsageError)


def test_progress_is_on_standard_error_when_wanted(table, capsys):
    mmconvert.convert(os.fspath(table), table.parent / "out", quiet=False)
    assert capsys.readouterr().out == ""


def test_keywords_know_their_types():
    assert read_keywords(mmconvert.convert)["overwrite"] is bool
    assert "options" not in read_keywords(mmconvert.convert)


def test_a_file_that_is_named_like_an_option_is_a_file(table, monkeypatch):
    monkeypatch.chdir(table.parent)
    table.rename(table.with_name("-x.tsv"))
    assert mmconvert.convert(Path("-x.tsv"), "out").rows_written == 1
    Path("out").rename("-out")
    assert mmconvert.export(Path("-out"), "back.tsv", to="lmudata").rows_read == 1


def test_what_is_not_there_cannot_be_verified(tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        mmconvert.verify(tmp_path / "nothing")


@pytest.mark.parametrize("rows", [0, "3"])
def test_a_page_shows_a_row_at_least(table, rows):
    with pytest.raises(UsageError, match="rows is a whole number from 1"):
        mmconvert.preview(table, table.parent / "p.html", rows=rows)


def test_what_plug_ins_print_goes_where_it_is_told(table, capsys):
    (table.parent / "loud.py").write_text(
        "from mmconvert.plugins.transform import Transform\n"
        "def apply(record, parameters, setting):\n    print('hear')\n    yield record\n"
        "LOUD = Transform(summary='Speak', apply=apply)\n"
    )
    mmconvert.convert(table, table.parent / "out", transform=f"{table.parent}/loud.py@LOUD", workers=1)
    assert capsys.readouterr() == ("hear\n", "")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mmconvert.convert(None, "o"), f"convert: expected {DATA} (got None)."),
        (
            lambda: mmconvert.convert([b"a.tsv"], "o"),
            f"convert: expected {DATA} (got b'a.tsv').",
        ),
        (lambda: mmconvert.convert("a.tsv", None), "convert: output: expected a path (got None)."),
        (lambda: mmconvert.export("d", output=3, to="vmcq"), "export: output: expected a path (got 3)."),
        (lambda: mmconvert.convert("a.tsv", "o", limit=2.5), "convert limit: expected a whole number (got 2.5)."),
    ],
)
def test_what_is_no_path_or_no_whole_number_is_not_taken_for_one(call: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value) == said


@pytest.mark.parametrize("path", ["x" * 300, "x" * 300 + "/rows.tsv", "/".join(["y" * 200] * 30), "a\0b"])
def test_a_path_that_no_file_can_have_is_a_mistake_of_usage(path, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mmconvert.convert(table, "data")
    calls = [
        lambda: mmconvert.convert(path, "out"),
        lambda: mmconvert.convert([table, path], "out"),
        lambda: mmconvert.convert(table, "out", image_root=path),
        lambda: mmconvert.check(path),
        lambda: mmconvert.inspect(path),
        lambda: mmconvert.export(path, "e.tsv", to="lmudata"),
        lambda: mmconvert.export("data", f"{path}.tsv", to="lmudata"),
        lambda: mmconvert.preview(path, "p.html"),
        lambda: mmconvert.preview(table, f"{path}/p.html"),
        lambda: mmconvert.push(path, "user/repo"),
        lambda: mmconvert.verify(path),
        lambda: mmconvert.open_dataset(path),
    ]
    for call in calls:
        with pytest.raises(UsageError):
            call()


def test_a_path_with_a_nul_is_named_by_its_argument(table):
    with pytest.raises(UsageError, match=r"convert: output: no path has a NUL \(got 'a\\x00b'\)\. Give a path"):
        mmconvert.convert(table, "a\0b")


def test_a_dataset_of_a_store_is_exported(table, tmp_path):
    mmconvert.convert(table, "memory://bucket/here")
    done = mmconvert.export("memory://bucket/here", tmp_path / "back.tsv", to="lmudata")
    assert (done.rows_written, (tmp_path / "back.tsv").is_file()) == (1, True)


@pytest.mark.parametrize("limit", ["nan", "inf"])
def test_a_limit_that_is_no_number_is_named(table, limit):
    with pytest.raises(UsageError, match="expected a number of MiB"):
        mmconvert.convert(table, table.parent / "o", max_image_mb=float(limit))


def test_the_url_of_a_file_of_this_machine_is_met_with_its_path(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (
        lambda: mmconvert.convert(table, f"file://{tmp_path}/o"),
        lambda: mmconvert.convert(f"file://{table}", tmp_path / "o"),
    ):
        with pytest.raises(UsageError, match=f"name the path itself, {tmp_path}"):
            call()
    assert not Path("file:").exists()


def test_a_broken_link_in_a_folder_is_not_passed_over(table, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.tsv").write_bytes(table.read_bytes())
    (folder / "b.tsv").symlink_to("gone.tsv")
    with pytest.raises(UsageError, match=r"b\.tsv: the link is broken"):
        mmconvert.convert(folder, tmp_path / "o")


def test_steps_that_leave_no_row_are_not_taken_for_an_empty_file(table, tmp_path):
    with pytest.raises(Error, match="the steps left none of its rows"):
        mmconvert.convert(table, tmp_path / "o", transform="subsample:share=0")


def test_paths_may_be_drawn_from_anything(table, tmp_path):
    assert mmconvert.convert(tmp_path.glob("good.*"), tmp_path / "a").rows_written == 1
    assert mmconvert.convert({table}, tmp_path / "b").rows_written == 1
    with pytest.raises(UsageError, match="rejects: expected a path or None"):
        mmconvert.convert(table, tmp_path / "c", rejects=5)


def test_what_a_file_is_and_what_a_page_shows_are_what_the_command_line_says(table, tmp_path):
    (found,) = mmconvert.inspect(table.with_name("mixed.tsv"), format="lmudata")
    assert (found.format, found.reason, found.rows, found.rejected) == ("lmudata", "given by --format", 1, 1)
    assert found.samples[0].prompt.startswith("<image>Which?")
    said = at_the_terminal("inspect", table.with_name("mixed.tsv"), "--format", "lmudata", "--json")
    assert json.loads(said.out) == [found.to_json()]
    page = mmconvert.preview(table, tmp_path / "page.html")
    said = at_the_terminal("preview", table, "-o", tmp_path / "page.html", "--json")
    assert json.loads(said.out) == page.to_json()
    said = at_the_terminal("check", table.with_name("mixed.tsv"), "--json")
    assert json.loads(said.out) == mmconvert.check(table.with_name("mixed.tsv")).to_json()


def test_plug_ins_are_listed_as_at_the_terminal():
    found = mmconvert.list_plugins("formats", words="lmu")
    assert [one.name for one in found["formats"]] == ["lmudata"]
    said = json.loads(at_the_terminal("list", "formats", "lmu", "--json").out)
    assert said == {kind: [one._asdict() for one in plugins] for kind, plugins in found.items()}
    with pytest.raises(UsageError, match="unknown kind 'format'"):
        mmconvert.list_plugins("format")


def test_a_folder_of_images_that_is_not_there_is_named_by_every_function(table):
    for function in (mmconvert.check, mmconvert.inspect):
        with pytest.raises(UsageError, match=r"Invalid value for 'image_root': Directory 'pictures' does not exist\."):
            function(table, image_root="pictures")


def test_benchmarks_are_listed_as_by_the_command():
    (one,) = mmconvert.list_benchmarks(["lmms_eval:pope_adv"])
    assert isinstance(one, mmconvert.Benchmark)
    assert (one.key, one.recipe) == ("lmms_eval:pope_adv", "lmms_pope")
    assert one in mmconvert.list_benchmarks("pope_adv")
    with pytest.raises(mmconvert.UsageError, match="no benchmark has"):
        mmconvert.list_benchmarks("no such thing")
