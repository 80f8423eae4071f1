"""The recipes for one file, named or found."""

import pytest

from mmconvert.core.errors import UsageError
from mmscore.scoring.scored_file import choose_recipes, open_joined
from support.predictions import choices, write_predictions


def test_recipes_that_are_named_take_the_options(tmp_path):
    rows = open_joined(str(write_predictions(tmp_path / "p.parquet", choices(("A", "A")))))
    plain, mine = (
        choose_recipes(rows, ["evalscope_general_vmcq"], options=options)
        for options in (None, '{"aggregation": "mean_and_vote_at_k"}')
    )
    assert [(choice.name, choice.options is None) for choice in plain + mine] == [
        ("evalscope_general_vmcq", True),
        ("evalscope_general_vmcq", False),
    ]
    with pytest.raises(UsageError, match="recipe 'own_choice' takes no options"):
        choose_recipes(rows, ["own_choice"], options='{"aggregation": "mean"}')
