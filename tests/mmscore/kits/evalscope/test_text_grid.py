import pytest

from mmscore.kits.evalscope.text_grid import draw_table


@pytest.mark.parametrize(
    ("cells", "drawn"),
    [
        ([0.5, 0.25, 1.0], ["0.5 ", "0.25", "1   "]),
        ([1, 22], [" 1", "22"]),
        (["1", "22"], [" 1", "22"]),
        ([1e-8, 0.5], ["1e-08", "0.5  "]),
        ([float("nan"), 0.5], ["nan  ", "  0.5"]),
        ([None, 3], [" ", "3"]),
        (["", 3], [" ", "3"]),
    ],
)
def test_numbers_stand_to_the_right_with_their_points_in_line(cells, drawn):
    assert _drawn(cells) == [text.rjust(6) for text in drawn]


@pytest.mark.parametrize(
    ("cells", "drawn"),
    [
        (["1.0", "x"], ["1.0", "x"]),
        (["50%", "5%"], ["50%", "5%"]),
        (["1e999", 2], ["1e999", "2"]),
        ([None, " a "], ["", "a"]),
    ],
)
def test_texts_stand_to_the_left(cells, drawn):
    assert _drawn(cells) == [text.ljust(6) for text in drawn]


def _drawn(cells):
    return [line[2:-2] for line in draw_table([[cell] for cell in cells], ["head"], "grid").splitlines()[3::2]]


def test_every_character_counts_as_one_wide_and_long_cells_widen_the_column():
    assert draw_table([["模型模型"]], ["a"]).splitlines() == [
        "┌──────┐", "│ a    │", "├──────┤", "│ 模型模型 │", "└──────┘",
    ]  # fmt: skip


def test_a_table_without_rows_is_its_headings():
    assert draw_table([], ["ab"], "grid").splitlines() == ["+------+", "| ab   |", "+======+", "+------+"]
