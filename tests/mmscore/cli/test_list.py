import json

import pytest
from click.testing import CliRunner

from mmconvert.core.errors import UsageError
from mmscore.cli import program
from support.terminal import mmscore, one_message


def test_every_recipe_is_listed_with_what_it_is_and_who_brought_it():
    found = json.loads(CliRunner().invoke(program, ["list", "recipes", "--json"], standalone_mode=False).output)
    assert list(found) == ["recipes"]
    names = {plugin["name"]: plugin for plugin in found["recipes"]}
    assert {"vlmevalkit_mcq", "mmmu_val", "evalscope_general_vqa"} <= set(names)
    assert all(plugin["summary"] and plugin["origin"] == "built-in" for plugin in names.values())


def test_an_unknown_kind_names_the_nearest():
    with pytest.raises(UsageError, match="recipes"):
        CliRunner().invoke(program, ["list", "recipe"], standalone_mode=False, catch_exceptions=False)


def test_the_registry_of_a_kit_is_listed(tmp_path):
    (tmp_path / "mine.py").write_text("class Mine:\n    model_family = ['mine-7b']\n    def chat(self): ...\n")
    shown = mmscore("list", "mmtrusteval", "--import", tmp_path / "mine.py").out
    assert "chatmodels: mine-7b" in shown
    assert "metrics: pred_no_op" in shown
    assert json.loads(mmscore("list", "mmtrusteval", "--json").out)["chatmodels"] == []
    refused = mmscore("list", "recipes", "--import", tmp_path / "mine.py")
    assert refused.code == 2
    assert "--import: is for a framework" in one_message(refused, "mmscore")
