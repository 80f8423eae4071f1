"""A workbook that cannot be written says why."""

from pathlib import Path

import pytest

from mmconvert.io.write_xlsx import write_workbook


def test_a_place_that_does_not_exist_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_workbook(tmp_path / "none/x.xlsx", ["index"], [{"index": "1"}])
