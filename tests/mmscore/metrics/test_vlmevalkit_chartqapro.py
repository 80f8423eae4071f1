import pytest

from mmconvert.core.errors import RowError
from mmscore.metrics.vlmevalkit_chartqapro import read_texts


@pytest.mark.parametrize("cell", ["", "A", "[]", "[1]", "['a', 1]", "{'a': 1}", "['a'"])
def test_a_cell_that_holds_no_list_of_texts_is_an_invalid_row(cell):
    with pytest.raises(RowError) as refused:
        read_texts(cell, "answer")
    assert (refused.value.code, refused.value.field) == ("list.type", "answer")


def test_a_list_of_texts_is_read():
    assert read_texts("['a', \"b's\"]", "answer") == ["a", "b's"]
