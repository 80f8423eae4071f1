"""Records, datasets and pages in a notebook: columns and thumbnails, never bytes, nothing of theirs as markup."""

import base64
import json
from pathlib import Path

import mmconvert
from mmconvert.core.record import Image, Part, Record, Source, Turn
from support.datasets_on_disk import record, write_dataset
from support.records import image_bytes

HOSTILE = "<script>alert(1)</script>"


def test_a_records_repr_is_one_short_line_without_bytes() -> None:
    data = image_bytes("PNG", 1, (9, 7))
    image = Image(data, 1, "a.png", format="PNG", width=9, height=7)
    shown = Record("7", "7", (), "vqa", Source("f", "f", 0), (image,), question="x" * 500, answer="red")
    assert repr(image) == f"<Image 1 'a.png', PNG 9x7, {len(data):,} bytes>"
    assert "answer='red'" in repr(shown)
    assert len(repr(shown)) < 200
    assert "\\x" not in repr(shown)


def test_a_record_shows_its_columns_and_a_thumbnail(tmp_path: Path) -> None:
    data = image_bytes("PNG", 1, (9, 7))
    turns = (Turn("user", (Part("image"), Part("text", HOSTILE))),)
    shown = Record("7", "7", turns, "vqa", Source("f", "f", 0), (Image(data, 1, HOSTILE, format="PNG"),), answer="red")
    page = shown._repr_html_()
    assert page is not None
    assert HOSTILE not in page
    assert "data:image/webp;base64," in page
    assert "[image] &lt;script&gt;" in page


def test_a_dataset_shows_its_splits_and_first_rows(tmp_path: Path) -> None:
    write_dataset(tmp_path / "set", {"test": [record(number) for number in range(9)]})
    dataset = mmconvert.open_dataset(tmp_path / "set")
    assert repr(dataset) == f"<Dataset {str(tmp_path / 'set')!r}, 9 rows (test: 9)>"
    page = dataset._repr_html_()
    assert page is not None
    assert "9 rows (test: 9)" in page
    assert page.count("<tr>") == 1 + 5


def test_a_preview_shows_its_first_samples_with_thumbnails_and_skipped_rows(tmp_path: Path) -> None:
    data = image_bytes("PNG", 1, (40, 30))
    (tmp_path / "a.png").write_bytes(data)
    rows = [{"question": f"{HOSTILE} {n}", "answer": "red", "image": "a.png"} for n in range(9)]
    lines = [json.dumps(row) for row in ({**rows[0], "image": "none.png"}, *rows)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    shown = mmconvert.preview(tmp_path / "rows.jsonl", tmp_path / "p.html", image_root=[tmp_path])
    page = shown._repr_html_()
    assert page is not None
    assert "9 records, 9 images, 1 skipped rows" in page
    assert f"read as {shown.formats[0]} (vqa: 9)" in page
    assert page.count("<tr>") == 1 + 5
    assert page.count('<img src="data:image/webp;base64,') == 5
    assert page.count('title="PNG · 40 × 30 · ') == 5
    assert base64.b64encode(data).decode() not in page
    assert HOSTILE not in page
    assert "&lt;script&gt;" in page
    assert "first" not in shown.to_json()


def test_a_preview_of_skipped_rows_shows_why(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "1", "question": "q", "options": ["a", "b"], "answer": "E"}\n')
    page = mmconvert.preview(tmp_path / "rows.jsonl", tmp_path / "p.html", format="vmcq")._repr_html_()
    assert page is not None
    assert "0 records, 0 images, 1 skipped rows" in page
    assert "<th>problem</th>" in page
    assert "expected one of A, B (got &#x27;E&#x27;)" in page


def test_a_preview_links_its_page(tmp_path: Path) -> None:
    page = mmconvert.preview([{"id": "1", "question": "?", "answer": "red"}], tmp_path / "a'b.html")._repr_html_()
    assert page is not None
    assert 'a&#x27;b.html" target="_blank"' in page
