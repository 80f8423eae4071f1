"""The live view over HTTP and in Chromium: who may ask, what is given, and that texts stay texts."""

import http.client
import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from mmconvert.core.errors import UsageError
from mmscore.api import score, view
from mmscore.llm.cache_lock import hold
from mmscore.llm.response_cache import Answer, AnswerStore, store_path
from support.browser import opened_url
from support.layout import SCHEMES, WIDTHS, find_keyboard_problems, find_problems
from support.predictions import choices, write_predictions

HOSTILE = '</script><script>window.hacked = 1</script><img src=x onerror="window.hacked = 1">\u202egnp'


@pytest.fixture
def folder(tmp_path):
    """Two finished runs with a report each; the name of one model is hostile."""
    place = tmp_path / "runs"
    for name, replies in (("a", "AB"), ("b", "AA")):
        (place / name).mkdir(parents=True)
        rows = choices(*((reply, "A") for reply in replies))
        model = f"{name} {HOSTILE}"
        file = write_predictions(place / name / "predictions.parquet", rows, model=model, dataset="Shapes")
        score(file, "own_choice", output=place / name / "report.json")
    return place


@pytest.fixture
def live(folder):
    with view(folder) as served:
        yield served


def ask(url, method="GET", **headers):
    """Give status, headers and body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request(method, f"{parts.path}?{parts.query}", headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, response.headers, body


def at(live, path, query=""):
    return live.url.replace("/?", f"{path}?") + query


RUN = "&run=a/predictions.parquet"


@pytest.mark.parametrize("path", ["/", "/state.json", "/report", "/none"])
@pytest.mark.parametrize("token", ["", "token=", "token=wrong", "token=%00", "x=1"])
def test_without_the_token_nothing_is_given(live, path, token):
    base = live.url.partition("/?")[0]
    status, _, body = ask(f"{base}{path}?{token}")
    assert status == 403
    assert "Shapes" not in body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]", ""])
def test_another_name_for_this_machine_is_refused(live, host):
    assert ask(live.url, Host=host)[0] == 403


def test_the_view_is_served_on_this_machine_alone(live):
    assert urlsplit(live.url).hostname == "127.0.0.1"
    assert live._server.socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_sent(live, method):
    assert ask(live.url, method)[0] == 501


def test_every_answer_has_a_policy_and_is_kept_nowhere(live):
    for path, query in (("/", ""), ("/state.json", ""), ("/report", RUN), ("/none", "")):
        _, headers, _ = ask(at(live, path, query))
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    policy = ask(live.url)[1]["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert re.search(r"script-src ('sha256-[^']+' ?)+;", policy)
    assert "unsafe" not in policy.partition("script-src")[2].partition(";")[0]


@pytest.mark.parametrize(
    "run",
    [
        "../secret.parquet", "/etc/passwd", "a/../../secret.parquet", "a/report.json", "%2e%2e/secret.parquet",
        "file:///etc/passwd", "a/predictions.parquet%00", "USER/REPO", "", "a",
    ],
)  # fmt: skip
def test_no_other_file_can_be_asked_for(live, folder, run):
    write_predictions(folder.parent / "secret.parquet", choices(("A", "A")), model="hidden", dataset="Hidden")
    status, headers, body = ask(at(live, "/report", f"&run={run}"))
    assert (status, headers.get_content_type()) == (409, "text/plain")
    assert "idden" not in body


def test_pages_of_the_folder_are_never_served(live, folder):
    (folder / "report.html").write_text("<script>alert(1)</script>")
    for path in ("/report.html", "/a/report.json", "/../runs/report.html"):
        assert ask(at(live, path))[0] == 404


def test_a_taken_port_and_a_missing_folder_are_wrong_usage(live, folder):
    port = urlsplit(live.url).port
    with pytest.raises(UsageError, match=f"port.*{port}.*cannot be used"):
        view(folder, port=port)
    with pytest.raises(UsageError, match="no such file or folder"):
        view(folder / "none")
    with pytest.raises(UsageError, match="is not a folder"):
        view(folder / "a" / "report.json")


def test_a_view_that_is_closed_answers_no_more(folder):
    with view(folder) as live:
        url = live.url
        assert ask(url, "HEAD")[2] == ""
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(url, timeout=5)


def test_runs_and_scores_are_shown_as_text(browser, live):
    with opened_url(browser, live.url) as page:
        runs, reports = page.locator("#runs tbody tr"), page.locator("#reports tbody tr")
        expect(runs).to_have_count(2)
        expect(reports).to_have_count(2)
        assert "<script>window.hacked = 1" in runs.first.inner_text()
        assert sorted(one.locator("b").inner_text() for one in reports.all()) == ["100.0 %", "50.0 %"]
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0


def test_progress_moves_without_a_reload_and_what_has_the_focus_keeps_it(browser, live, folder):
    with opened_url(browser, live.url) as page:
        page.get_by_label("Compare a/predictions.parquet").focus()
        (folder / "c").mkdir()
        with (
            hold(store_path(folder / "c" / "predictions.parquet")) as held,
            AnswerStore(held, fingerprint="f", run={"rows": 4, "model": "slow", "dataset": "Shapes"}) as store,
        ):
            store.put([("k1", Answer(text="A"))])
            row = page.locator("#runs tbody tr", has_text="c/predictions.parquet")
            expect(row).to_contain_text("1 of 4", timeout=15_000)
            expect(row.locator(".tag")).to_have_text("running")
            store.put([("k2", Answer(text="B")), ("k3", Answer(text="C"))])
            expect(row).to_contain_text("3 of 4", timeout=15_000)
            assert row.locator("progress").get_attribute("value") == "3"
        expect(row.locator(".tag")).to_have_text("stopped", timeout=15_000)
        assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Compare a/predictions.parquet"


def test_two_runs_are_compared_on_a_page_made_for_them(browser, live):
    with opened_url(browser, live.url) as page:
        expect(page.locator("#compare")).to_have_text("Choose two runs to compare them.")
        for name in "ab":
            page.get_by_label(f"Compare {name}/predictions.parquet").check()
        with page.expect_popup() as waiting:
            page.get_by_role("link", name="Compare the two chosen runs").click()
        made = waiting.value
        expect(made.locator(".scores tbody tr")).to_have_count(2)
        expect(made.locator(".verdict")).to_contain_text("No clear difference")
        assert made.evaluate("window.hacked") is None


def test_a_run_that_cannot_be_scored_says_why(live, folder):
    write_predictions(folder / "predictions.parquet", [{"id": "1", "prediction": "A"}], model="m")
    state = json.loads(ask(at(live, "/state.json"))[2])
    assert "predictions.parquet" in [run["key"] for run in state["runs"]]
    status, _, body = ask(at(live, "/report", "&run=predictions.parquet"))
    assert status == 409
    assert body.startswith("This report cannot be made. ")


EVERY = [
    pytest.param(width, scheme, marks=() if (width, scheme) == (360, "dark") else pytest.mark.release)
    for width in WIDTHS
    for scheme in SCHEMES
]


@pytest.mark.parametrize(("width", "scheme"), EVERY)
def test_nothing_is_cut_or_hard_to_read(browser, live, folder, width, scheme):
    size = {"width": width, "height": 900}
    place = store_path(folder / "sweep-2026-11/temperature-0.7" / "predictions.parquet")
    place.parent.mkdir(parents=True)
    told = {"rows": 4_000, "model": "Qwen2.5-VL-72B-Instruct-AWQ", "dataset": "MMBench_DEV_EN_V11"}
    with hold(place) as held, AnswerStore(held, fingerprint="f", run=told) as store:
        store.put([("k1", Answer(text="A"))])
    with opened_url(browser, live.url, viewport=size, color_scheme=scheme) as page:
        expect(page.locator("#reports tbody tr")).to_have_count(2)
        expect(page.locator("#runs tbody tr")).to_have_count(3)
        assert find_problems(page) == []
        assert find_keyboard_problems(page) == []


def test_an_empty_folder_says_what_to_type(browser, tmp_path: Path):
    with view(tmp_path) as live, opened_url(browser, live.url) as page:
        expect(page.locator("#runs pre")).to_contain_text("mmscore predict")
        expect(page.locator("#reports pre")).to_contain_text("-o report.json")
