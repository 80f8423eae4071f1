"""A report as data frames, as the table of a notebook, as a chart: the numbers are the report's own."""

import sys
from html.parser import HTMLParser

import pytest

import mmscore
from mmconvert.core.errors import UsageError
from mmscore.reporting.notebook import NotebookReport
from support.predictions import choices, write_predictions

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def report(tmp_path) -> NotebookReport:
    rows = choices(("A", "A"), ("A", "B"), ("B", "B"), ("nothing", "B"))
    for row, category in zip(rows, ["colour", "colour", HOSTILE, HOSTILE], strict=True):
        row["category"] = category
    first = write_predictions(tmp_path / "first.parquet", rows, model="first")
    second = write_predictions(tmp_path / "second.parquet", rows[:3], model=HOSTILE)
    return mmscore.score([first, second], "own_choice")


def test_metrics_and_counts_are_those_of_the_report(report):
    metrics, counts = report.to_pandas(), report.to_pandas("counts")
    (first, second) = report.entries
    own = metrics[metrics.model == "first"].set_index("metric")
    assert dict(own.value) == {name: e.value for name, e in first.metrics.items()}
    assert tuple(own.loc["accuracy", ["ci_low", "ci_high"]]) == first.metrics["accuracy"].ci95
    assert list(counts.total) == [first.counts.total, second.counts.total]
    assert {"model", "dataset", "recipe", "version"} <= {*metrics} & {*counts}


def test_groups_have_a_row_for_each_value(report):
    groups = report.to_pandas("groups")
    found = groups[(groups.model == "first") & (groups.metric == "accuracy")]
    assert dict(zip(found.group_value, found.value, strict=True)) == {
        value: metrics["accuracy"].value for value, metrics in report.entries[0].groups["category"].items()
    }


def test_rows_have_a_column_for_each_score_and_give_the_metric(report):
    rows = report.to_pandas("rows")
    assert len(rows) == 7
    assert list(rows[rows.model == "first"].status) == ["scored"] * 4
    means = rows.groupby("model").accuracy.mean()
    for entry in report.entries:
        assert means[entry.model] == pytest.approx(entry.metrics["accuracy"].value)
    assert {"id", "value", "how", "start", "end"} <= {*rows}


def test_a_frame_that_is_unknown_or_was_not_kept_is_refused(report):
    with pytest.raises(UsageError, match=r"no frame 'group'\. Did you mean groups\?"):
        report.to_pandas("group")
    with pytest.raises(UsageError, match="without its rows"):
        NotebookReport(report.entries).to_pandas("rows")


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_notebook_shows_a_table_with_every_text_as_text(report):
    page = Page(report._repr_html_())
    assert "script" not in page.tags
    assert page.tags.count("table") == 1 + sum(len(entry.groups) for entry in report.entries)
    assert HOSTILE in page.texts
    assert "0.5000 fraction" in page.texts


def test_a_chart_has_a_bar_for_each_value_with_its_interval(report):
    chart = report.plot()
    assert [len(trace.x) for trace in chart.data] == [2, 2]
    (groups,) = (entry.groups["category"] for entry in report.entries[:1])
    values = [metrics["accuracy"] for metrics in groups.values()]
    assert list(chart.data[0].y) == [e.value for e in values]
    low, high = values[0].ci95
    assert chart.data[0].error_y.array[0] == pytest.approx(high - values[0].value)
    assert chart.data[0].error_y.arrayminus[0] == pytest.approx(values[0].value - low)
    assert HOSTILE not in chart.to_json()


def test_a_chart_of_one_value_is_drawn_when_it_is_asked_for(report):
    for entry in report.entries:
        entry.groups["task"] = {"vqa": entry.metrics}
    assert [list(trace.x) for trace in report.plot(by="task").data] == [["vqa"], ["vqa"]]


def test_a_chart_of_what_is_not_there_names_what_is(report):
    with pytest.raises(UsageError, match=r"plot: no breakdown \(got 'categroy'\)\. Did you mean category\?"):
        report.plot("categroy")
    with pytest.raises(UsageError, match=r"plot: no metric \(got 'f1'\)\. Known: "):
        report.plot(metric="f1")


def test_a_chart_without_groups_shows_the_whole(tmp_path):
    report = mmscore.score(write_predictions(tmp_path / "p.parquet", choices(("A", "A"))), "own_choice")
    assert list(report.plot().data[0].x) == ["all rows"]


def test_without_plotly_the_message_says_how_to_get_it(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(UsageError, match=r'pip install "mmconvert\[report\]"'):
        report.plot()


def test_a_chart_leaves_no_model_out(tmp_path):
    rows = choices(("A", "A"), ("A", "B"))
    grouped = [{**row, "category": name} for row, name in zip(rows, "xy", strict=True)]
    files = [
        write_predictions(tmp_path / "with.parquet", grouped, model="with"),
        write_predictions(tmp_path / "without.parquet", rows, model="without"),
    ]
    report = mmscore.score(files, "own_choice")
    assert [list(trace.x) for trace in report.plot().data] == [["all rows"], ["all rows"]]
    asked = report.plot(by="category")
    assert [trace.name for trace in asked.data] == ["with, own_choice@1"]
    assert asked.layout.title.text == "without without, own_choice@1: no accuracy by category"


def test_a_chart_shows_a_number_that_all_entries_have_or_names_those_without(tmp_path):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("A", "B"), model=HOSTILE))
    report = mmscore.score(file, ["own_choice", "vlmevalkit_mcq"])
    own, kit = (entry.metrics for entry in report.entries)
    shared = own["shared"] = kit["shared"] = kit.pop("accuracy")
    assert [list(trace.y) for trace in report.plot().data] == [[shared.value], [shared.value]]
    assert report.plot().layout.title.text is None
    chart = report.plot(metric="accuracy")
    assert len(chart.data) == 1
    assert chart.layout.title.text.startswith("without &lt;script&gt;")
    assert chart.layout.title.text.endswith("vlmevalkit_mcq@v3: no accuracy")
