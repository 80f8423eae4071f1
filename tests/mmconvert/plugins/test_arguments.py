"""`NAME:k=v,...` on the command line: what it gives, and what each slip is told."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmconvert.core.errors import UsageError
from mmconvert.plugins.arguments import convert_arguments, parse_spec

DECLARED = {"count": int, "share": 0.5, "colour": "red", "keep": True}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("draw", {}),
        ("draw:", None),
        ("draw:count=3", {"count": "3"}),
        ("draw:colour=255,0,0,count=3", {"colour": "255,0,0", "count": "3"}),
        ("draw:max-size=3", {"max_size": "3"}),
        ("draw:colour=", {"colour": ""}),
        ("draw:colour=a=b", {"colour": "a=b"}),
        ("draw:colour=red, count=3", {"colour": "red", "count": "3"}),
        ('draw:colour="a, b=c", count=3', {"colour": "a, b=c", "count": "3"}),
        ('draw:colour=a="b"', {"colour": 'a="b"'}),
        ('draw:colour="a" or "b"', {"colour": '"a" or "b"'}),
        ('draw:colour="a",b', {"colour": '"a",b'}),
        ('draw:colour="a', {"colour": '"a'}),
    ],
)
def test_a_spec_is_a_name_and_its_values(text, values):
    if values is None:
        with pytest.raises(UsageError, match="written key=value"):
            parse_spec(text)
    else:
        assert parse_spec(text) == ("draw", values)


@given(st.text(), st.text(), st.booleans())
def test_a_text_in_quotes_is_read_whatever_stands_in_it(text, other, ascii_only):
    quoted = [json.dumps(one, ensure_ascii=ascii_only) for one in (text, other)]
    assert parse_spec(f"draw:colour={quoted[0]},count=3, name = {quoted[1]}")[1] == (
        {"colour": text, "count": "3", "name": other}
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('draw:colour="\\x"', "not JSON text"),
        ("", "a name must come first"),
        (":k=v", "a name must come first"),
        ("draw:count", r"key=value \(got 'count'\)"),
        ("draw:=3", "key=value"),
        ("draw:count=3,count=4", "'count' is given twice"),
    ],
)
def test_a_slip_in_a_spec_is_told(text, told):
    with pytest.raises(UsageError, match=told):
        parse_spec(text)


def test_values_take_the_type_of_the_default():
    assert convert_arguments("draw", {"count": "3", "share": "1e-1", "keep": "No"}, DECLARED) == {
        "count": 3,
        "share": 0.1,
        "colour": "red",
        "keep": False,
    }


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "parameter 'count' is missing. Write draw:count=INT"),
        ({"count": "3", "color": "red"}, "unknown parameter 'color'. Did you mean colour"),
        ({"count": "three"}, r"'count' must be a whole number \(got 'three'\)"),
        ({"count": "3", "share": "nan"}, "'share' must be a number"),
        ({"count": "3", "keep": "maybe"}, "'keep' must be true or false"),
    ],
)
def test_a_wrong_value_is_told(values, told):
    with pytest.raises(UsageError, match=told):
        convert_arguments("draw", values, DECLARED)


@given(st.text())
def test_any_text_is_a_spec_or_a_usage_error(text):
    try:
        name, values = parse_spec(text)
    except UsageError:
        return
    assert name
    assert all(key.isidentifier() for key in values)
