import pytest

from mmconvert.core.errors import RowError
from mmconvert.kits.vlmevalkit.images import keep_rows_with_images, list_image_files, list_image_paths

IMAGE, OTHER = "x" * 70, "y" * 70


def _rows(*cells):
    return [{"index": number, "image": cell} for number, cell in enumerate(cells, 1)]


def test_rows_without_an_image_vanish_and_references_are_followed_once_in_order():
    assert [row["image"] for row in keep_rows_with_images(_rows(IMAGE, None, "1", "3"))] == [
        IMAGE,
        IMAGE,
        IMAGE,
    ]
    assert [row["index"] for row in keep_rows_with_images(_rows(IMAGE, None, "1"))] == [1, 3]


@pytest.mark.parametrize("cells", [("2", "3", IMAGE), ("9", IMAGE), ("['1','2']", IMAGE)])
def test_a_reference_to_a_row_without_an_image_by_then_is_refused(cells):
    with pytest.raises(RowError, match="names no row"):
        keep_rows_with_images(_rows(*cells))


def test_the_last_of_two_rows_with_one_index_lends_its_image():
    rows = keep_rows_with_images([{"index": 1, "image": IMAGE}, {"index": 1, "image": OTHER}])
    assert [row["image"] for row in rows] == [OTHER, OTHER]


@pytest.mark.parametrize(
    ("indices", "kept"), [(["1", "-2"], [1, -2]), (["007", "2"], ["007", "2"]), ([1.5, 2.0], ["1.5", "2.0"])]
)
def test_indices_are_numbers_where_all_are(indices, kept):
    assert [row["index"] for row in keep_rows_with_images([{"index": index} for index in indices])] == kept


@pytest.mark.parametrize("index", ["1+1", True, "0x10"])
def test_an_index_that_must_be_evaluated_is_refused(index):
    with pytest.raises(RowError, match="number or a name"):
        keep_rows_with_images([{"index": index}])


def test_images_are_named_by_index_or_by_their_paths():
    assert list_image_files({"index": 1, "image": "a"}) == [("1.png", "a")]
    assert list_image_files({"index": 1, "image": ["a", "b"], "image_path": ["x.jpg", "y.png"]}) == [
        ("x.jpg", "a"),
        ("y.png", "b"),
    ]
    assert list_image_paths({"image_path": "rel/a.png"}) == ["rel/a.png"]
    with pytest.raises(RowError, match="a name for each"):
        list_image_files({"index": 1, "image": ["a", "b"], "image_path": "x.jpg"})
    with pytest.raises(RowError, match="no image"):
        list_image_paths({"image_path": None})


def test_a_list_of_one_is_that_one():
    (row,) = keep_rows_with_images([{"index": 1, "image": f"['{IMAGE}']", "image_path": "['a.png']"}])
    assert (row["image"], row["image_path"]) == (IMAGE, "a.png")
