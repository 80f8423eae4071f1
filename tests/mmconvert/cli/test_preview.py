"""`mmconvert preview`: one page of any file, looked at in a real Chromium."""

import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import mmconvert as mmconvert_package
from support.browser import opened
from support.datasets_on_disk import record, write_dataset
from support.layout import SCHEMES, WIDTHS, find_keyboard_problems, find_problems
from support.terminal import mmconvert

DEMO = Path(__file__).parents[3] / "src/mmconvert/testing/demo/files"


def preview(page: Path, *arguments: object) -> dict:
    ended = mmconvert("preview", *arguments, "-o", page, "--json")
    assert (ended.code, ended.err) == (0, "")
    return json.loads(ended.out)


def ids(page: Page) -> list[str]:
    return page.locator("tbody th").all_inner_texts()


def test_a_file_is_shown_as_a_model_sees_it(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "colours.html"
    done = preview(path, DEMO / "vmcq/colours.tsv")
    assert (done["rows"], done["records"], done["pictures"], done["whole"]) == (4, 4, 5, True)
    with opened(browser, path) as page:
        assert page.title() == "colours.tsv"
        page.get_by_text("000000002").click()
        item = page.get_by_role("complementary")
        turn = item.locator(".message")
        expect(turn).to_have_count(1)
        expect(turn.locator("h4")).to_have_text("user")
        captions = turn.locator("figcaption").all_inner_texts()
        assert captions[0].startswith("<image 1> PNG · 32 × 32 · 118 B")
        assert captions[1].startswith("<image 2> JPEG · 32 × 32 · ")
        for image in turn.locator("img").all():
            expect(image).to_have_js_property("naturalWidth", 32)
        assert item.locator(".named").all_inner_texts() == ["A\n<image 1>", "B\n<image 2>"]
        expect(item.locator(".named.good")).to_have_text("B<image 2>")
        placeholder = item.locator(".named.good").get_by_role("button", name="<image 2>")
        assert placeholder.get_attribute("title").startswith("JPEG · 32 × 32")
        placeholder.click()
        expect(turn.locator("figure").nth(1)).to_have_class("called")
        enlarge = turn.get_by_role("button", name="<image 2>, JPEG")
        enlarge.click()
        assert enlarge.get_attribute("aria-expanded") == "true"


def test_a_dataset_is_shown_with_its_splits(browser: Browser, tmp_path: Path) -> None:
    dataset = write_dataset(tmp_path / "d", {"dev": [record(1), record(2)], "test": [record(n) for n in range(3, 9)]})
    done = preview(tmp_path / "d.html", dataset, "--rows", 5)
    assert (done["rows"], done["whole"]) == (5, False)
    with opened(browser, tmp_path / "d.html") as page:
        assert ids(page) == ["1", "2", "3", "4", "5"]
        expect(page.locator("#facts dd").first).to_have_text("first 5")
        page.get_by_label("Split").select_option("dev")
        assert ids(page) == ["1", "2"]


@pytest.mark.parametrize(("rows", "said"), [(3, "the first 3 rows"), (4, "4 rows"), (5, "4 rows")])
def test_rows_are_the_first_ones_only_where_there_are_more(tmp_path: Path, rows: int, said: str) -> None:
    page = tmp_path / "p.html"
    ended = mmconvert("preview", DEMO / "vmcq/colours.tsv", "-o", page, "--rows", rows)
    assert ended.out.startswith(f"{page}: {said}, ")


def test_what_cannot_be_read_behind_the_rows_is_more(tmp_path: Path) -> None:
    line = json.dumps({"messages": [{"role": "user", "content": "?"}], "answer": "a"}) + "\n"
    (tmp_path / "a.jsonl").write_bytes(line.encode() * 2 + b"\xff\xfe\n")
    words = ("--rows", 2, "--format", "openai_messages")
    assert preview(tmp_path / "p.html", tmp_path / "a.jsonl", *words)["whole"] is False


def test_refused_rows_say_every_problem_and_what_stands_there(browser: Browser, tmp_path: Path) -> None:
    rows = [
        {"question": "<image 1> one?", "options": ["a", "b"], "answer": "A", "image_1": "blue.png"},
        {"question": "<image 1> two?", "options": ["a"], "answer": "Q", "image_1": "none.png"},
        {"question": "<image 1> three?", "options": ["a", "b"], "answer": "B", "image_1": "blue.png"},
    ]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = preview(tmp_path / "p.html", file, "--image-root", DEMO / "llava/images")
    assert (done["records"], done["refused"]) == (2, 1)
    checked = mmconvert("check", file, "--image-root", DEMO / "llava/images").out.splitlines()
    with opened(browser, tmp_path / "p.html") as page:
        page.get_by_role("button", name="skipped").click()
        assert ids(page) == ["in.jsonl row 1"]
        page.locator("tbody tr").click()
        assert page.locator("#item .text.bad").all_inner_texts() == checked
        assert '"answer": "Q"' in page.locator("#item .code").inner_text()


def test_an_image_at_an_address_is_named_and_never_asked_for(browser: Browser, tmp_path: Path) -> None:
    content = [
        {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/a.png"}},
        {"type": "text", "text": "What?"},
    ]
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps({"messages": [{"role": "user", "content": content}]}) + "\n")
    assert preview(tmp_path / "p.html", file)["refused"] == 1
    assert preview(tmp_path / "p.html", file, "--keep-urls")["records"] == 1
    with opened(browser, tmp_path / "p.html") as page:  # which fails where anything is asked for
        page.locator("tbody tr").click()
        expect(page.locator("#item .no-image")).to_have_text("the dataset has only its URL")
        expect(page.locator("#item .path")).to_have_text("http://127.0.0.1:9/a.png")


def test_what_a_prompt_and_a_transform_make_is_seen_first(tmp_path: Path) -> None:
    path = tmp_path / "p.html"
    done = preview(path, DEMO / "vmcq/colours.tsv", "--transform", "circular", "--prompt", "mmbench", "--rows", 2)
    assert (done["rows"], done["records"]) == (2, 8)
    assert "There are several options:" in path.read_text()


def test_a_file_among_others_that_cannot_be_read_is_named_on_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(DEMO / "lmudata/Colours.tsv", folder / "a.tsv")
    good = (DEMO / "lmudata/Colours.tsv").read_text(encoding="utf-8")
    (folder / "b.tsv").write_text(f'{good}9\t"open\n')
    done = preview(tmp_path / "p.html", folder)
    assert (done["rows"], done["records"], done["files_refused"]) == (4, 4, 1)
    assert "invalid files: 1" in mmconvert("preview", folder, "-o", tmp_path / "p.html").out
    assert mmconvert("preview", folder / "b.tsv", folder / "b.tsv", "-o", tmp_path / "p.html").code == 1
    alone = mmconvert("preview", folder / "b.tsv", "-o", tmp_path / "b.html")
    assert alone.code == 1
    assert "a quote opens here" in alone.err
    assert not (tmp_path / "b.html").exists()


def test_pages_of_repeated_ids_name_each_row(browser: Browser, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.tsv").write_text("id\tprediction\n1\tx\n1\ty\n")
    preview(tmp_path / "p.html", tmp_path / "a.tsv", f"dev={tmp_path / 'b.tsv'}", "--format", "predictions")
    with opened(browser, tmp_path / "p.html") as page:
        assert sorted(ids(page)) == ["1", "1", "1", "1"]
        assert sorted(page.evaluate("mm.items.map((item) => item.id)")) == ["1", "1 (2)", "dev/1", "test/1"]


def test_a_hostile_file_stays_text(browser: Browser, tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x00\x1b]0;x\x07"
    content = [{"type": "text", "text": hostile}]
    rows = [
        {"messages": [{"role": "user", "content": content}], "answer": hostile, hostile: hostile},
        {"messages": [{"role": hostile, "content": content}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": hostile}}]}]},
    ]
    file = tmp_path / "<script>alert(3)</script>.jsonl".replace("/", "\u2215")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = preview(tmp_path / "p.html", file)
    assert (done["records"], done["refused"]) == (1, 2)
    with opened(browser, tmp_path / "p.html") as page:
        assert "<script>alert(3)" in page.title()
        for row in range(3):
            page.locator("tbody tr").nth(row).click()
            assert "alert(1)" in page.locator("#item").inner_text()
        assert page.locator("#item script, #item img, table script").count() == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("no.tsv", "-o", "p.html"), "no.tsv: no such file"),
        ((DEMO / "vmcq/colours.tsv", "-o", "none/p.html"), "its folder does not exist"),
        ((DEMO / "vmcq/colours.tsv", "-o", "s3://b/p.html"), "s3://b/p.html: this is written to local files only."),
        ((DEMO / "vmcq/colours.tsv", "-o", "p.tsv"), "a page is an HTML file. Use the extension: p.html."),
        ((DEMO / "vmcq/colours.tsv", "-o", "p.html", "--transform", "circulr"), "circular"),
    ],
)
def test_wrong_usage_ends_with_2_and_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = mmconvert("preview", *arguments)
    assert (ended.code, said in ended.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_python_shows_the_same_page(tmp_path: Path) -> None:
    file = DEMO / "vmcq/colours.tsv"
    done = mmconvert_package.preview(file, tmp_path / "python.html", transform="circular", prompt="mmbench", rows=2)
    assert (done.rows, done.records, done.refused) == (2, 8, 0)
    preview(tmp_path / "command.html", file, "--transform", "circular", "--prompt", "mmbench", "--rows", 2)
    assert (tmp_path / "python.html").read_bytes() == (tmp_path / "command.html").read_bytes()
    with pytest.raises(mmconvert_package.UsageError, match="no such file"):
        mmconvert_package.preview(tmp_path / "none.tsv", tmp_path / "p.html")


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A file of three rows, the second and third of which are skipped for different reasons."""
    rows = [
        {"question": "<image 1> one?", "options": ["a", "b"], "answer": "A", "image_1": "blue.png"},
        {"question": "<image 1> two?", "options": ["a", "b"], "answer": "Q", "image_1": "blue.png"},
        {"question": "<image 1> three?", "options": ["a", "b"], "answer": "B", "image_1": "../../none.png"},
    ]
    file = tmp_path / "mixed.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_skipped_rows_stand_first_with_their_reasons(browser: Browser, tmp_path: Path, mixed: Path) -> None:
    preview(tmp_path / "p.html", mixed, "--image-root", DEMO / "llava/images")
    with opened(browser, tmp_path / "p.html") as page:
        assert ids(page)[:2] == ["mixed.jsonl row 1", "mixed.jsonl row 2"]
        expect(page.locator(".skipped h2")).to_have_text("2 skipped rows")
        reasons = page.locator(".skipped li").all_inner_texts()
        assert ["answer.not_an_option" in reasons[0], "image.path" in reasons[1]] == [True, True]
        page.get_by_role("button", name="image.path").click()
        assert ids(page) == ["mixed.jsonl row 2"]


def test_statistics_count_images_turns_and_answers(browser: Browser, tmp_path: Path) -> None:
    preview(tmp_path / "p.html", DEMO / "vmcq/colours.tsv")
    with opened(browser, tmp_path / "p.html") as page:
        said = {
            section.locator("h2").inner_text().partition(" (")[0]: section.locator("li").all_inner_texts()
            for section in page.locator(".statistic").all()
        }
        assert [line.split("\n") for line in said["Images per sample"]] == [["1", "3 · 75.0 %"], ["2", "1 · 25.0 %"]]
        assert said["Longer side of images, pixels"] == ["1 to 224\n5 · 100.0 %"]
        assert [line[0] for line in said["Answers"]] == sorted({line[0] for line in said["Answers"]})


def test_the_gallery_shows_whole_conversations_with_their_answers(browser: Browser, tmp_path: Path) -> None:
    preview(tmp_path / "p.html", DEMO / "llava/train.json")
    with opened(browser, tmp_path / "p.html") as page:
        table = page.locator("tbody tr").first.locator("td").all_inner_texts()
        page.get_by_role("button", name="Gallery").click()
        expect(page).to_have_url(re.compile("view=gallery"))
        card = page.locator(".tile").first
        roles = card.locator(".turn b").all_inner_texts()
        assert roles[:2] == ["user", "assistant"]
        assert card.locator("img").count() == 1
        answer = card.locator(".turn").nth(1).locator("span").inner_text()
        assert answer in table
        card.press("Enter")
        expect(page.locator("#item .message")).to_have_count(len(roles))


SOON = {(360, "dark")}
EVERY = [
    pytest.param(width, scheme, marks=() if (width, scheme) in SOON else pytest.mark.release)
    for width in WIDTHS
    for scheme in SCHEMES
]


@pytest.mark.parametrize(("width", "scheme"), EVERY)
def test_nothing_is_cut_or_hard_to_read(browser: Browser, tmp_path: Path, mixed: Path, width: int, scheme: str) -> None:
    inputs = [mixed, DEMO / "llava/train.json"]
    preview(tmp_path / "p.html", *inputs, "--image-root", DEMO / "llava/images")
    with opened(browser, tmp_path / "p.html", viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        assert find_problems(page) == []
        page.evaluate("mm.openItem(mm.items[0].id)")
        assert find_problems(page) == []
        page.evaluate("mm.closeItem(); mm.setView('gallery')")
        assert find_problems(page) == []
        page.evaluate("mm.setView('')")
        assert find_keyboard_problems(page) == []
