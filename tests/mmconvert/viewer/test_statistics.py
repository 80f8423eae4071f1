from msgspec.structs import replace

from mmconvert.viewer.statistics import Statistics
from support.questions import make_image, record


def lines(statistics, title):
    return next((one["lines"] for one in statistics.to_json() if one["title"].startswith(title)), None)


def counted(*records):
    statistics = Statistics()
    for one in records:
        statistics.add(one)
    return statistics


def asked(n, **columns):
    one = record(n, make_image("red"), "Which colour?", task="vqa", **columns)
    return replace(one, images=tuple(replace(image, width=32, height=16, format="PNG") for image in one.images))


def test_letters_stand_in_their_order_and_other_answers_by_number():
    letters = counted(*(asked(n, answer=letter) for n, letter in enumerate("BAB")))
    assert lines(letters, "Answers") == [["A", 1], ["B", 2]]
    words = counted(*(asked(n, answer=word) for n, word in enumerate(["no", "yes", "yes"])))
    assert lines(words, "Answers") == [["yes", 2], ["no", 1]]


def test_long_answers_count_together_and_rare_ones_share_a_line():
    free = counted(asked(1, answer="a long sentence of many words"), asked(2, answer="another long sentence of words"))
    assert lines(free, "Answers") == [["free text", 2]]
    many = counted(*(asked(n, answer=f"word {n}") for n in range(20)))
    assert lines(many, "Answers")[-1] == ["9 others", 9]


def test_images_count_by_their_longer_side_and_weigh_together():
    statistics = counted(asked(1, answer="a"), replace(asked(2, answer="b"), images=()))
    assert lines(statistics, "Images per sample") == [["0", 1], ["1", 1]]
    assert lines(statistics, "Longer side of images") == [["1 to 224", 1]]
    assert [one["title"] for one in statistics.to_json() if "together" in one["title"]]


def test_what_is_alike_in_all_samples_is_left_out():
    assert lines(counted(asked(1, answer="a"), asked(2, answer="b")), "Tasks") is None
