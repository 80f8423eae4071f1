"""ReForm-Eval's instructions read from a checkout; the modules here have its form and words of our own."""

import json
from pathlib import Path

import pytest

from mmconvert.core.errors import Error, UsageError
from mmconvert.kits.reform_eval.families import FAMILIES
from mmconvert.kits.reform_eval.pools import Pool, read_pools
from support.kit_checkouts import write_checkout

MODULE = """
import torch

class VQA_SingleChoice(Dataset):
    def __init__(self, args, config='build/configs/VQA.yaml', proc=None, duplication=1):
        if args.infer_method == 'generation' and args.formulation == 'SingleChoice':
            self.instruction_list = [
                "Choose well.",  # one
                'It\\'s ' "joined.",
            ]
        elif args.infer_method == 'likelihood' or args.formulation == 'Generation':
            self.instruction_list = ["Say it."]
        else:
            raise ValueError('no')
        self.instruction_list4other = ["Never."]
        self.in_context_history = [
            {'from': 'human', 'value': 'Here? Options: (A) yes; (B) no.'},
            {'from': 'assistant', 'value': '(A) yes'}
        ]
        self.in_context_history[1]['value'] = "{} {}".format(proc, 'x')
        open('/tmp/never', 'w').write('run')

    def __getitem__(self, index):
        return self.instruction_list[index]
"""
VQA = "build/VQA/vqa_dataset.py:VQA_SingleChoice"


def test_a_checkout_gives_its_own_words(tmp_path: Path) -> None:
    pools = read_pools(write_checkout(tmp_path, {"build/VQA/vqa_dataset.py": MODULE, "build/VQA/__init__.py": ""}))
    turns = (
        {"from": "human", "value": "Here? Options: (A) yes; (B) no."},
        {"from": "assistant", "value": "(A) yes"},
    )
    assert dict(pools) == {VQA: Pool(("Choose well.", "It's joined."), ("Say it.",), turns)}


def test_an_inner_condition_stays_under_the_outer_one(tmp_path: Path) -> None:
    text = """
class A:
    def __init__(self, args):
        if args.infer_method == 'likelihood':
            if args.deep:
                self.instruction_list = ["deep"]
        else:
            self.instruction_list = ["else"]
"""
    assert read_pools(write_checkout(tmp_path, {"build/X/a.py": text}))["build/X/a.py:A"] == Pool(("else",), ("deep",))


def test_all_classes_of_the_framework_are_read(tmp_path: Path, shared: Path) -> None:
    facts = shared / "data/reform_eval_pools.json"
    modules: dict[str, str] = {}
    for entry in json.loads(facts.read_text("utf-8")):
        body = ""
        for kind, condition, value in entry["pools"]:
            right = value if isinstance(value, str) else repr(value)
            under = "" if condition in ("", "else") else f"if {condition}:\n            "
            body += f"        {'if not x: ' if condition == 'else' else ''}{under}self.{kind} = {right}\n"
        for name in entry["classes"]:
            module, _, made = name.partition(":")
            modules[module] = modules.get(module, "") + f"class {made}(D):\n    def __init__(self, x):\n{body}\n"
    pools = read_pools(write_checkout(tmp_path, modules))
    assert len(pools) == 44
    assert dict(pools) == dict(read_pools(facts))
    assert {family.pool for family in FAMILIES.values()} <= pools.keys()


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({}, "no class in build/*/*.py assigns instruction_list"),
        ({"build/A/a.py": "class A: pass"}, "no class in"),
        ({"build/A/a.py": "class A:\n  def"}, "a.py: cannot be parsed as Python"),
        ({"build/A/a.py": "x = " + "(" * 5000}, "a.py: cannot be parsed as Python"),
        ({"build/A/a.py": "x = " + "-" * 50_000 + "1"}, "a.py: cannot be parsed as Python"),
        ({"build/A/a.py": "x = 1\x00"}, "a.py: cannot be parsed as Python"),
        ({"build/A/a.py": "#" * 1_000_001}, "a.py: is longer than 1,000,000 bytes"),
        (
            {"build/A/a.py": "class A:\n  def f(s):\n    s.instruction_list = 1\n    s.in_context_history = 2"},
            "element 0",
        ),
    ],
)
def test_what_is_no_checkout_is_refused_by_name(tmp_path: Path, modules: dict[str, str], message: str) -> None:
    with pytest.raises(Error) as caught:
        read_pools(write_checkout(tmp_path, modules))
    assert message in str(caught.value)


def test_a_class_that_the_checkout_lacks_is_named(tmp_path: Path) -> None:
    pools = read_pools(write_checkout(tmp_path, {"build/VQA/vqa_dataset.py": MODULE}))
    with pytest.raises(UsageError, match=r"holds no instruction_list of build/VQA/kvqa_dataset\.py:KVQA_SingleChoice"):
        pools["build/VQA/kvqa_dataset.py:KVQA_SingleChoice"]
