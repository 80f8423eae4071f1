"""Transforms as steps: order, seeds, copies, and transforms of the user's own."""

import subprocess
import sys

import pytest

from mmconvert.core.errors import RowError, UsageError
from mmconvert.core.record import Part, Record, Source, Turn
from mmconvert.plugins.transform import Setting, apply_steps, load_steps, make_copies

OWN = """
from dataclasses import replace
from mmconvert.core.errors import RowError, UsageError
from mmconvert.plugins.transform import Transform, make_copies

def twice(record, parameters, setting):
    return make_copies(record, parameters["count"])

def draw(record, parameters, setting):
    yield replace(record, hint=f"{record.hint or ''}{setting.random(record.id).randrange(10**6)};")

def drop(record, parameters, setting):
    return () if record.variant else (record,)

def refuse(record, parameters, setting):
    raise RowError("test.refused", "question", "no.")

def positive(parameters):
    if parameters["count"] < 1:
        raise UsageError("count must be positive.")

def break_(record, parameters, setting):
    yield replace(record, hint="\\ud800")

TWICE = Transform("Copies.", twice, {"count": 2}, positive)
DRAW = Transform("Draws.", draw)
DROP = Transform("Drops make_copies.", drop)
REFUSE = Transform("Refuses.", refuse)
BREAK = Transform("Gives what no file can hold.", break_)
NUMBER = 7
"""


def record(id_="7", **fields):
    return Record(id_, id_, (Turn("user", (Part("text", "Which?"),)),), "vqa", Source("f", "f", 0), **fields)


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    return lambda *names: tuple(f"{file}@{name}" for name in names)


def test_steps_run_in_order_and_each_sees_all_records_of_the_one_before(own):
    made = apply_steps(record(), load_steps(own("TWICE:count=3", "DRAW", "DROP")))
    assert [one.id for one in made] == ["7#0"]
    made = apply_steps(record(), load_steps(own("DROP", "TWICE", "DRAW")))
    assert [one.id for one in made] == ["7#0", "7#1"]
    assert made[0].hint != made[1].hint


def test_without_steps_a_record_stays():
    assert apply_steps(record(), ()) == (record(),)


def test_a_draw_hangs_on_seed_name_and_key_alone(own):
    (step,) = load_steps(own("DRAW"), seed=3)
    first = [apply_steps(record(str(n)), (step,))[0].hint for n in range(5)]
    again = [apply_steps(record(str(n)), load_steps(own("DRAW"), seed=3))[0].hint for n in reversed(range(5))]
    assert first == again[::-1]
    assert len(set(first)) == 5
    assert apply_steps(record("0"), load_steps(own("DRAW"), seed=4))[0].hint != first[0]


@pytest.mark.slow
def test_a_draw_is_the_same_in_every_process_and_for_ever():
    code = (
        "from mmconvert.plugins.transform import Setting\n"
        "print(Setting('draw', 1).random('7', '\u00e4').randrange(10**9))"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1")
    }
    assert shown == {"899877583\n"}


def test_keys_that_join_alike_draw_apart():
    setting = Setting("draw")
    assert setting.random("a", "bc").random() != setting.random("ab", "c").random()


def test_an_error_of_a_step_names_its_code(own):
    with pytest.raises(RowError, match="no"):
        apply_steps(record(), load_steps(own("REFUSE")))


def test_what_a_step_gives_is_checked_as_what_a_format_gives(own):
    with pytest.raises(RowError) as error:
        apply_steps(record(), load_steps(own("BREAK")))
    assert error.value.field == "hint"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("TWICE:count=0", "count must be positive"),
        ("TWICE:number=1", "unknown parameter 'number'"),
        ("NUMBER", "is not a Transform"),
        ("TWISE", "Did you mean TWICE"),
    ],
)
def test_what_the_user_got_wrong_is_told_before_the_first_record(own, name, told):
    with pytest.raises(UsageError, match=told):
        load_steps(own(name))


def test_an_unknown_transform_is_a_usage_error():
    with pytest.raises(UsageError, match="unknown transform 'nonsense'"):
        load_steps(["nonsense"])


def test_copies_of_copies_keep_sample_and_variant_unique():
    made = [again for copy in make_copies(record(), 2) for again in make_copies(copy, 3)]
    assert [one.id for one in made] == [f"7#{n}" for n in range(6)]
    assert [one.variant for one in made] == list(range(6))
    assert {one.sample for one in made} == {"7"}
