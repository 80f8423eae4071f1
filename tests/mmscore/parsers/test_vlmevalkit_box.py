import pytest

from mmscore.parsers.vlmevalkit_box import vlmevalkit_box


@pytest.mark.parametrize(
    ("response", "value", "how"),
    [
        ("[1, 2, 3, 4E1]", "[1.0, 2.0, 3.0, 40.0]", "brackets"),
        ("[ .5 -2 +3e0, 4.0 ]", "[0.5, -2.0, 3.0, 4.0]", "brackets"),
        ("[1,2,3] then [5,6,7,8]", "[5.0, 6.0, 7.0, 8.0]", "brackets"),
        ("x1=1 y1=2 x2=3", "[1.0, 1.0, 1.0, 2.0]", "numbers"),
        ("1 2 3", None, "unparsed"),
    ],
)
def test_the_first_list_of_four_in_brackets_else_the_first_four_numbers(response, value, how):
    parsed = vlmevalkit_box(response)
    assert (parsed.value, parsed.how) == (value, how)
