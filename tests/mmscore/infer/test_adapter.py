import functools
import hashlib
from pathlib import Path

import pytest

from mmconvert.core.errors import UsageError
from mmscore.infer.adapter import adapt, build_plugin_name
from mmscore.infer.backend import ModelOptions, identify_file
from mmscore.llm.response_cache import Answer

OPTIONS = ModelOptions("m")


class Opened:
    name = identity = "opened"
    batch_size = 2

    def __init__(self, options=None):
        self.options = options

    def answer(self, records):
        return [Answer("A") for _ in records]

    def function(self, records):
        return ["B" for _ in records]


def test_a_class_is_opened_and_an_object_stays_what_it_is():
    made = Opened()
    assert adapt("o", Opened, OPTIONS).options is OPTIONS
    assert adapt("o", made, OPTIONS) is made
    assert adapt("o", made.function, OPTIONS).answer([]) == []


@pytest.mark.parametrize("given", [object(), object, "A", 3])
def test_what_is_no_backend_is_refused(given):
    with pytest.raises(UsageError, match="'thing' has no name, identity, batch_size, answer"):
        adapt("thing", given, OPTIONS)


def test_an_object_is_named_after_its_file_so_that_an_edit_is_seen():
    for given in (Opened, Opened()):
        assert build_plugin_name(given) == f"{Path(__file__)}@Opened"
    digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    assert identify_file(build_plugin_name(Opened)) == f"Opened:{digest}"
    assert build_plugin_name(functools.partial(Opened, None)) == f"{Path(__file__)}@Opened"
    assert build_plugin_name(len) == "len"
    assert build_plugin_name(3) == "int"
