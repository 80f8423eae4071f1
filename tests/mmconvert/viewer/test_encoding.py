"""Items as lines of JSON: any text, cut in the middle where it is huge, never around a mark."""

import json

from hypothesis import given
from hypothesis import strategies as st

from mmconvert.viewer.encoding import MAX_TEXT, build_details, build_row, encode_script_json
from mmconvert.viewer.items import Message, PageItem, Text, TextSpan

ANY = st.text(st.characters())


@given(st.recursive(ANY, lambda inner: st.lists(inner) | st.dictionaries(ANY, inner), max_leaves=5))
def test_any_value_comes_back_and_ends_no_script(value: object) -> None:
    text = encode_script_json(value)
    assert "<" not in text
    assert "\n" not in text
    text.encode()  # no half of a pair is left as it is
    assert json.loads(text) == value


def pieces(text: Text) -> list:
    (_, (shown,)) = build_details(PageItem("x", {}, fields={"f": text}), [])[2][0]
    return shown["pieces"]


@given(st.integers(0, 3 * MAX_TEXT), st.lists(st.integers(0, 3 * MAX_TEXT), max_size=6, unique=True).map(sorted))
def test_pieces_add_up_to_the_text_and_marks_stay(length: int, cuts: list[int]) -> None:
    cuts = [cut for cut in cuts if cut <= length]
    spans = tuple(TextSpan(start, min(end, start + 50), "m") for start, end in zip(cuts[::2], cuts[1::2], strict=False))
    text = ("0123456789" * (length // 10 + 1))[:length]
    at, marked = 0, []
    for piece in pieces(Text(text, spans, name="x")) if text else []:
        if isinstance(piece, int):
            at += piece
            continue
        shown = piece if isinstance(piece, str) else piece[0]
        assert text[at : at + len(shown)] == shown
        if not isinstance(piece, str):
            marked.append((at, at + len(shown)))
        at += len(shown)
    assert at == length
    assert marked == [(span.start, span.end) for span in spans if text]


def test_a_huge_text_keeps_both_ends_and_says_what_is_left_out() -> None:
    item = PageItem("x", {}, messages=[Message("user", ("a" * MAX_TEXT + "b" * 5_000_000 + "c" * MAX_TEXT,))])
    (_, (shown,)) = build_details(item, [])[0][0]
    first, between, last = shown["pieces"]
    assert set(first) == {"a"}
    assert set(last) == {"c"}
    assert len(first) + between + len(last) == 5_000_000 + 2 * MAX_TEXT
    assert len(json.dumps(build_row(PageItem("x", {"id": "y" * 5_000_000}), ["id"], {}, None))) < 10_000


def test_the_search_finds_every_text_unless_told_otherwise() -> None:
    item = PageItem(
        "Ä1", {"n": 3}, messages=[Message("user", ("Hello", 0))], fields={"a": ["One", Text("TWO")], "b": "Three"}
    )
    assert build_row(item, ["n"], {}, None)[4].split() == ["ä1", "3", "hello", "one", "two", "three"]
    assert build_row(PageItem("x", {}, search="Only"), [], {}, None)[4] == "only"
