import base64

import pytest

from mmconvert.core.errors import Error
from mmconvert.pipeline.convert import read
from support.records import image_bytes

NAMES = ["index", "question", "A", "B", "E", "F", "hint", "answer", "category", "l2-category", "image"]
IMAGE = base64.b64encode(image_bytes("PNG")).decode()


def _table(folder, *rows, names=NAMES):
    file = folder / "MMBench_DEV_EN.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in [names, *rows]), "utf-8")
    return read(file, format="mmbench", read_as="mmbench")


def _row(index, **cells):
    row = {"question": "Which?", "A": "cat", "B": "dog", "answer": "A", "category": "c", "l2-category": "l", **cells}
    return [{"index": index, "image": IMAGE, **row}.get(name, "") for name in NAMES]


def test_words_are_lost_and_a_question_among_them_is_refused(tmp_path):
    records = _table(tmp_path, _row("1", hint="None", B="NA", E="cow"), _row("2", question="null"))
    (record,) = records
    assert (record.hint, record.options) == (None, ("cat", None, None, None, "cow"))
    assert records.rejects[0].field == "question"


def test_options_end_with_e(tmp_path):
    records = _table(tmp_path, _row("1", E="five", F="six"))
    (record,) = records
    assert record.options == ("cat", "dog", None, None, "five")
    assert records.warnings == {"an option behind E is left out": 1}


def test_a_needed_column_is_named_letter_by_letter(tmp_path):
    with pytest.raises(Error, match=r"l2-category: .* Did you mean l2_category"):
        list(_table(tmp_path, _row("1"), names=[name.replace("-", "_") for name in NAMES]))
