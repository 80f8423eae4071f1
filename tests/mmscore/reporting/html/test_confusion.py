import numpy as np
import pyarrow as pa

from mmscore.core.table import FAILED, SCORED, Scored
from mmscore.reporting.html.confusion import MOST, NOTHING, OTHERS, Confusion, confusion
from mmscore.reporting.html.verdicts import Verdicts


def counted(pairs, kind="letters", statuses=None):
    statuses = statuses or [SCORED] * len(pairs)
    scored = Scored(pa.table({"status": pa.array(statuses)}), {})
    references, readings = zip(*pairs, strict=True)
    return confusion(scored, Verdicts(None, np.array([]), [], kind, references, readings))


def test_references_are_lines_and_readings_columns_with_what_was_not_read_last():
    pairs = [("A", "A"), ("A", "B"), ("B", "A"), ("B", None), ("B", None)]
    assert counted(pairs) == Confusion("letters", ("A", "B"), ("A", "B", NOTHING), ((1, 1, 0), (1, 0, 2)))


def test_yes_stands_before_no_and_every_reference_has_a_column():
    found = counted([("no", "no"), ("yes", "no")], "yes_no")
    assert (found.references, found.readings, found.counts) == (("yes", "no"), ("yes", "no"), ((0, 1), (0, 1)))


def test_rows_without_a_reply_or_reference_are_not_counted():
    found = counted([("A", None), (None, "A"), ("A", "A")], statuses=[FAILED, SCORED, SCORED])
    assert sum(map(sum, found.counts)) == 1


def test_rare_answers_share_a_line():
    letters = "ABCDEFGHIJKLMNOP"
    found = counted([(letter, letter) for letter in letters for _ in range(20 - letters.index(letter))])
    assert (len(found.references), found.references[-1]) == (MOST + 1, OTHERS)
    assert sum(map(sum, found.counts)) == sum(20 - n for n in range(len(letters)))


def test_free_answers_have_no_matrix():
    assert counted([("cat", "dog")], "") is None


def test_a_file_without_an_answer_has_no_matrix():
    assert counted([("A", None)], statuses=[FAILED]) is None
