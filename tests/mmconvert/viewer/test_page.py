"""The page in a real Chromium: it says nothing, asks for nothing, and shows texts as texts."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import mmconvert.viewer
from mmconvert.viewer.items import Choice, Column, Mark, Message, PageImage, PageItem, Text, TextSpan
from mmconvert.viewer.page import write_page
from support.browser import opened
from support.layout import find_problems

COLUMNS = (Column("id"), Column("question", kind="long"), Column("kind"), Column("score", kind="number"))
FILTERS = (Choice("kind", "Kind"), Mark("wrong", "Wrong", tone="bad"), Mark("odd"))


def some(count: int) -> list[PageItem]:
    return [
        PageItem(
            id=f"q{n}",
            cells={"id": f"q{n}", "question": f"How many are {n}?", "kind": "ABC"[n % 3], "score": n / 10},
            marks=[name for name, holds in (("wrong", n % 4 == 0), ("odd", n % 2 == 1)) if holds],
            messages=[Message("user", (f"How many are {n}?",))],
        )
        for n in range(count)
    ]


def page_of(folder: Path, items: list[PageItem], **more: object) -> Path:
    path = folder / "page.html"
    write_page(path, "Items", items=items, columns=COLUMNS, filters=FILTERS, **more)
    return path


def ids(page: Page) -> list[str]:
    return page.locator("tbody th").all_inner_texts()


@pytest.mark.release
def test_the_table_shows_fifty_items_a_page(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, page_of(tmp_path, some(120))) as page:
        assert ids(page) == [f"q{n}" for n in range(50)]
        expect(page.get_by_role("status")).to_have_text("120 items")
        page.get_by_role("button", name="Next page").click()
        page.get_by_role("button", name="Next page").click()
        assert ids(page) == [f"q{n}" for n in range(100, 120)]


def test_filters_narrow_each_other_and_the_address_keeps_them(browser: Browser, tmp_path: Path) -> None:
    path = page_of(tmp_path, some(120))
    with opened(browser, path) as page:
        page.get_by_role("button", name="Wrong").click()
        page.get_by_label("Kind").select_option("B")
        page.get_by_label("Search").fill("many 1")
        wanted = [f"q{n}" for n in range(120) if n % 4 == 0 and n % 3 == 1 and "1" in str(n)]
        assert ids(page) == wanted
        expect(page.get_by_role("status")).to_have_text(f"{len(wanted)} of 120 items")
        expect(page).to_have_url(re.compile("#q=many"))
        state = page.evaluate("location.hash.slice(1)")
        page.get_by_role("button", name="Clear filters").click()
        expect(page.get_by_role("status")).to_have_text("120 items")
    with opened(browser, path, state) as again:
        assert ids(again) == wanted
        assert again.get_by_role("button", name="Wrong").get_attribute("aria-pressed") == "true"


def test_many_filters_fold_until_one_of_them_is_chosen(browser: Browser, tmp_path: Path) -> None:
    names = [f"kind {n}" for n in range(6)]
    items = [PageItem(f"i{n}", {"id": f"i{n}"} | dict.fromkeys(names, "AB"[n % 2])) for n in range(4)]
    columns, filters = [Column("id"), *map(Column, names)], [Choice(name, name.title()) for name in names]
    path = tmp_path / "page.html"
    write_page(path, "Items", items=items, columns=columns, filters=filters)
    with opened(browser, path) as page:
        expect(page.get_by_label("Kind 2")).to_be_visible()
        expect(page.get_by_label("Kind 3")).to_be_hidden()
        page.get_by_text("3 more filters").click()
        page.get_by_label("Kind 5").select_option("B")
        assert ids(page) == ["i1", "i3"]
        state = page.evaluate("location.hash.slice(1)") or "is.kind+5=B"
    with opened(browser, path, state) as again:
        expect(again.get_by_label("Kind 5")).to_be_visible()
        assert ids(again) == ["i1", "i3"]


def test_rows_without_a_value_can_be_chosen(browser: Browser, tmp_path: Path) -> None:
    items = [PageItem(f"i{n}", {"id": f"i{n}", "kind": kind}) for n, kind in enumerate(["A", None, "B", ""])]
    path = page_of(tmp_path, items)
    with opened(browser, path) as page:
        kinds = page.get_by_label("Kind")
        kinds.select_option(label="(none) · 2")
        assert ids(page) == ["i1", "i3"]
        expect(page).to_have_url(re.compile("#is.kind=$"))
        kinds.select_option(label="all")
        assert len(ids(page)) == 4
    with opened(browser, path, "is.kind=") as again:
        assert ids(again) == ["i1", "i3"]


@pytest.mark.release
def test_a_held_key_does_not_wear_out_the_address(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, page_of(tmp_path, some(60))) as page:
        page.evaluate(
            """() => {
              const replace = history.replaceState.bind(history);
              window.written = 0;
              history.replaceState = (...given) => (window.written++, replace(...given));
              for (let n = 0; n < 60; n++) mm.openItem(`q${n}`);
            }"""
        )
        expect(page).to_have_url(re.compile("#page=2&item=q59$"))
        assert page.evaluate("window.written") == 1


def test_callers_filter_and_open_by_name(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, page_of(tmp_path, some(120), data={"n": 1})) as page:
        assert page.evaluate("[mm.data.n, mm.items.length, mm.items[3].cells.score]") == [1, 120, 0.3]
        page.evaluate("mm.setFilter('kind', 'C'); mm.openItem('q5')")
        assert ids(page)[:2] == ["q2", "q5"]
        assert page.locator("#item h2").inner_text() == "q5"


HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!-- <script>",
    "<img src=x onerror=alert(3)>",
    "a\x00b\x1b[31mc\x7f\x85d",
    "abc \u202efed\u202c \u2067x\u2069 \u200b\ufeff \u2028 \u2029 end",
    "lone \ud800 half",
    "javascript:alert(4) &amp; &lt;b&gt; ${alert(5)} {{x}}",
    "\U000e0041\U000e0042 tags",
    "e" + "\u0301" * 200,
    "שלום (abc) مرحبا",
]


def test_hostile_text_is_shown_as_text_everywhere(browser: Browser, tmp_path: Path) -> None:
    every = " | ".join(HOSTILE)
    items = [
        PageItem(
            id=text,
            cells={"id": text, "question": text, "kind": text},
            marks=["wrong"],
            messages=[Message(text, (text, 0))],
            images=[PageImage(None, text, text, text, 1)],
            fields={text: [text, Text(text, (TextSpan(0, len(text), text),), text, "bad")]},
            facts={text: text},
        )
        for text in HOSTILE
    ]
    path = tmp_path / "page.html"
    write_page(
        path,
        every,
        items=items,
        columns=[*COLUMNS[:2], Column("kind", every)],
        filters=[Choice("kind", every), Mark("wrong", every, every)],
        data={every: every},
        lead=every,
        facts={every: every},
        notes=[every],
    )
    with opened(browser, path) as page:
        for place in ("h1", ".lead", ".notes li", "dt", "dd", ".chip span"):
            assert page.evaluate(_SHOWN, place) == seen(every), place
        for number, text in enumerate(HOSTILE):
            page.evaluate("(number) => mm.openItem(mm.items[number].id)", number)
            for place in (
                "h2",
                "h4",
                ".message .text",
                "figcaption .path",
                ".no-image",
                ".field h3",
                "mark",
                ".name",
            ):
                assert page.evaluate(_SHOWN, f"#item {place}") == seen(text), (place, text)
            assert page.evaluate(_SHOWN, f"tbody tr:nth-child({number + 1}) th") == seen(text)
        assert page.locator("script").count() == 12
        assert page.locator("#item img, #top img").count() == 0


_SHOWN = """(place) => {
  const copy = document.querySelector(place).cloneNode(true);
  for (const mark of copy.querySelectorAll('.unseen')) mark.replaceWith('?');
  return (copy.querySelector('bdi') ?? copy).innerHTML;
}"""


def seen(text: str) -> str:
    """The markup of a text alone: characters that cannot be seen as `?`, the rest as HTML writes a text."""
    text = re.sub(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]",
        "?",
        text,
    )
    return html.escape(text, quote=False)


def test_what_cannot_be_seen_is_marked(browser: Browser, tmp_path: Path) -> None:
    text = "a\u202eb\u200bc\x1bd\r\ne\u200df"
    item = PageItem("x", {"id": "x"}, messages=[Message("user", (text,))])
    with opened(browser, page_of(tmp_path, [item]), "item=x") as page:
        body = page.locator("#item .text").first
        assert body.locator(".unseen").all_inner_texts() == ["RLO", "ZWSP", "ESC", "CR", "ZWJ"]
        assert body.locator(".unseen").first.get_attribute("title") == "U+202E right-to-left override"
        assert "\u202e" not in body.text_content()


def test_no_empty_line_stands_behind_an_image(browser: Browser, tmp_path: Path) -> None:
    message = Message("user", ("\nA. ", 0, "\nB. ", 1, "\n\nWhich?"))
    item = PageItem("x", {"id": "x"}, messages=[message], images=[PageImage(None, "", "", "", 1)] * 2)
    with opened(browser, page_of(tmp_path, [item]), "item=x") as page:
        assert page.locator("#item .text").all_text_contents() == ["\nA. ", "B. ", "\nWhich?"]


@pytest.mark.parametrize(
    ("cards", "width", "rows"), [(4, 1000, [2, 2]), (4, 1300, [4]), (5, 1000, [3, 2]), (1, 1000, [1])]
)
def test_cards_fill_their_rows(browser: Browser, tmp_path: Path, cards: int, width: int, rows: list[int]) -> None:
    own = tmp_path / "own.js"
    own.write_text(
        "document.getElementById('summary').append(mm.fillRows(mm.el('div', { class: 'statistics' },"
        " mm.data.cards.map((card) => mm.el('section', {}, card))), 288));"
    )
    path = page_of(tmp_path, some(1), scripts=[own], data={"cards": [f"card {n}" for n in range(cards)]})
    with opened(browser, path, viewport={"width": width, "height": 600}) as page:
        assert find_problems(page) == []
        tops = page.locator(".statistics section").evaluate_all(
            "(all) => all.map((one) => one.getBoundingClientRect().top)"
        )
        assert [tops.count(top) for top in sorted(set(tops))] == rows


def test_the_keyboard_reaches_everything(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, page_of(tmp_path, some(120))) as page:
        page.keyboard.press("/")
        page.keyboard.type("q1")
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.textContent") == "q10"
        page.keyboard.press("j")
        assert page.locator("#item h2").inner_text() == "q11"
        page.get_by_role("button", name="Next item").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        assert page.locator("#item h2").inner_text() == "q13"
        page.keyboard.press("k")
        page.keyboard.press("Escape")
        assert page.locator("#item").is_hidden()
        assert page.evaluate("document.activeElement.item.id") == "q12"


def test_a_sorted_column_leaves_gaps_last(browser: Browser, tmp_path: Path) -> None:
    items = [PageItem(f"i{n}", {"id": f"i{n}", "score": score}) for n, score in enumerate([2, None, 10, 1.5])]
    with opened(browser, page_of(tmp_path, items)) as page:
        head = page.get_by_role("button", name="score")
        head.click()
        assert ids(page) == ["i3", "i0", "i2", "i1"]
        head.click()
        assert ids(page) == ["i2", "i0", "i3", "i1"]
        assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"


@pytest.mark.release
def test_ten_thousand_items_are_filtered_and_sorted(browser: Browser, tmp_path: Path) -> None:
    items = some(10_000)
    with opened(browser, page_of(tmp_path, items)) as page:
        expect(page.get_by_role("status")).to_have_text("10,000 items")
        page.get_by_label("Search").fill("77")
        page.get_by_role("button", name="odd").click()
        page.get_by_role("button", name="score").dblclick()
        wanted = [
            one.id
            for one in reversed(items)
            if "odd" in one.marks and "77" in "\n".join([one.id, str(one.cells["score"])])
        ]
        expect(page.get_by_role("status")).to_have_text(f"{len(wanted)} of 10,000 items")
        assert ids(page) == wanted[:50]


def test_a_huge_text_is_cut_in_the_page_and_says_so(browser: Browser, tmp_path: Path) -> None:
    item = PageItem("x", {"id": "x", "question": "w" * 3_000_000}, messages=[Message("user", ("<b>" * 3_000_000,))])
    path = page_of(tmp_path, [item])
    assert path.stat().st_size < 200_000
    with opened(browser, path, "item=x") as page:
        expect(page.locator("#item .left-out")).to_have_text("8,990,000 characters left out")
        assert page.locator("#item b").count() == 0


def test_a_callers_script_and_style_come_after_the_pages_own(browser: Browser, tmp_path: Path) -> None:
    button = 'mm.el("button", { onclick: () => mm.setFilter("wrong", true) }, mm.data.say)'
    (tmp_path / "own.js").write_text(f'document.getElementById("summary").append({button});')
    (tmp_path / "own.css").write_text("#summary { color: rgb(1, 2, 3); }")
    own = {"scripts": [tmp_path / "own.js"], "styles": [tmp_path / "own.css"], "data": {"say": "those <b>"}}
    with opened(browser, page_of(tmp_path, some(8), **own)) as page:
        assert page.locator("#summary").evaluate("(one) => getComputedStyle(one).color") == "rgb(1, 2, 3)"
        page.get_by_role("button", name="those <b>").click()
        assert ids(page) == ["q0", "q4"]


def test_no_other_script_runs(browser: Browser, tmp_path: Path) -> None:
    path = page_of(tmp_path, some(1))
    path.write_text(path.read_text(encoding="utf-8").replace("</main>", "</main><script>window.ran = 1</script>"))
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("[window.ran ?? null, mm.items.length]") == [None, 1]
    page.close()


def test_colours_follow_the_system_until_told_otherwise(browser: Browser, tmp_path: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    path = page_of(tmp_path, some(1))
    with opened(browser, path, color_scheme="dark") as page:
        dark = page.evaluate(ground)
        switch = page.get_by_role("button", name="Colours")
        switch.click()
        light = page.evaluate(ground)
        assert (light, dark) == ("rgb(246, 247, 248)", "rgb(15, 17, 20)")
        expect(page).to_have_url(re.compile("#theme=light$"))
        page.emulate_media(media="print")
        assert switch.is_hidden()
        assert page.get_by_label("Search").is_hidden()
        assert page.get_by_role("table").is_visible()


def test_no_script_of_a_caller_may_end_its_element(tmp_path: Path) -> None:
    script = tmp_path / "own.js"
    script.write_text("const a = '</script>';")
    with pytest.raises(ValueError, match="</script"):
        page_of(tmp_path, [], scripts=[script])
    assert not (tmp_path / "page.html").exists()


def test_two_items_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'q0'"):
        page_of(tmp_path, some(1) * 2)


def test_the_data_stand_in_lines_that_no_text_can_leave(tmp_path: Path) -> None:
    path = page_of(tmp_path, [PageItem(text, {"id": text}) for text in HOSTILE])
    written = path.read_text(encoding="utf-8")
    rows = re.search('id="mm-rows">(.*)</script>\n', written)
    assert [row[0] for row in json.loads(rows[1])] == HOSTILE
    assert written.count("</script") == written.count("<script") == 12


SCRIPTS = sorted(Path(mmconvert.viewer.__file__).parent.glob("*.js"))


@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_every_script_is_plain_javascript(script: Path) -> None:
    subprocess.run(["node", "--check", script], check=True)
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|fetch\(", text)
