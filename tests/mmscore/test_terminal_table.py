import io

import pytest
from rich.console import Console

from mmscore.evaluation import score
from mmscore.report_view import show
from support.predictions import choices, write_predictions


@pytest.mark.parametrize(("width", "between"), [(100, "   "), (80, " ")])
def test_names_of_numbers_stay_whole_at_a_narrow_terminal(tmp_path, width, between):
    file = write_predictions(tmp_path / "p.parquet", choices(("A", "A"), ("?", "B")))
    shown = io.StringIO()
    show(score([file], ["own_choice"]), Console(file=shown, width=width))
    assert f"accuracy_if_unparsed_dropped{between}1.0000{between}1{between}" in shown.getvalue()
