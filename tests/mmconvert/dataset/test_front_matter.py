"""The YAML block of a card: what is written, in C or in Python, is the same text and reads back."""

import datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.dataset import front_matter
from mmconvert.dataset.front_matter import add_front_matter, read_front_matter

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30) | st.text(max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.dates(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(TEXTS, values, max_size=3),
    max_leaves=8,
)


def write_in_python(values: dict) -> str:
    dumper = front_matter._build_kinds().dumper
    return yaml.dump(values, Dumper=dumper, sort_keys=False, allow_unicode=True, width=1_000_000)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_the_fast_writer_gives_the_same_text(values):
    assert add_front_matter(values, "") == f"---\n{write_in_python(values)}---\n"


@pytest.mark.parametrize(
    "values",
    [
        {"pretty_name": "\U0001f30b LLaVA", "language": ["de"]},
        {"": "no name", "a": {"": []}},
        {"a": "two\nlines", "b\rc": "tab\there"},
        {datetime.date(2026, 1, 1): "a date", 7: None},
        {"text": "x: y # z", "list": ["- a", "'", '"', "\\", "no", "0x1f", "1e3", "~"]},
    ],
)
def test_what_the_fast_writer_would_write_otherwise_is_written_as_ever(values):
    text = add_front_matter(values, "body")
    assert text == f"---\n{write_in_python(values)}---\nbody"
    assert read_front_matter(text) == values
