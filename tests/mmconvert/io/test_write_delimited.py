"""Tables that are written so that they are read again."""

from pathlib import Path

import pytest

from mmconvert.core.errors import Error
from mmconvert.io.write_delimited import write_rows
from mmconvert.plugins.format import Target


@pytest.mark.parametrize("name", ["t.tsv", "t.csv"])
def test_a_column_that_no_header_may_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Error, match=r"the column '\\x00' holds a control character, .* JSON Lines"):
        write_rows(lambda: [{"id": "1", "\0": "x"}], Target(tmp_path / name))
    write_rows(lambda: [{"id": "1", "\0": None}], Target(tmp_path / name))
    assert (tmp_path / name).read_text() == "id\n1\n"
    write_rows(lambda: [{"id": "1", "\0": "x"}], Target(tmp_path / "t.jsonl"))
